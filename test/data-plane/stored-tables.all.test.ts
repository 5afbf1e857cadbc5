// In make test: test/data-plane/stored-tables.laptop.test.ts
import { freezes, goesOnWithTables } from "./stored-tables-cases.ts";

/** Keeps what today's code stores for its successors: `FREEZE_STATE=<commit> npx vitest run --project data-plane <this file>`. */
const { FREEZE_STATE: name } = process.env;
if (name) freezes(name);
else goesOnWithTables(["BigQuery", "ClickHouse", "Postgres"]);

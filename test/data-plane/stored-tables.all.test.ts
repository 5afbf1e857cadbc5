// In make test: test/data-plane/stored-tables.laptop.test.ts
import { goesOnWithTables } from "./stored-tables-cases.ts";

goesOnWithTables(["BigQuery", "ClickHouse", "Postgres"]);

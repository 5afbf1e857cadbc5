import { goesOnWithTables } from "./stored-tables-cases.ts";

goesOnWithTables(["DuckDB"]);

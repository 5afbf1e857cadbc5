// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { tryHistories } from "./table-model-cases.ts";

// A history in Postgres takes minutes.
tryHistories([1], ["DuckDB", "BigQuery"]);

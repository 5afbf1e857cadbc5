/** Every type of warehouse, by the name that `spec.type` of a Destination has. Its folder is that name in lower case. */
export { definition as BigQuery } from "./bigquery/definition.ts";
export { definition as ClickHouse } from "./clickhouse/definition.ts";
export { definition as DuckDB } from "./duckdb/definition.ts";
export { definition as Postgres } from "./postgres/definition.ts";

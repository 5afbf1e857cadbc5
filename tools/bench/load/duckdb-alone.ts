import { DuckDBInstance } from "@duckdb/node-api";

/** The baseline of the load bench, by hand in DuckDB: `node duckdb-alone.ts <database> <directory of Parquet files>`. */
const [database, directory] = process.argv.slice(2);
const instance = await DuckDBInstance.create(database);
const connection = await instance.connect();
await connection.run(
	`CREATE TABLE events AS SELECT event_id, timestamp, body, date FROM read_parquet('${directory}/*.parquet')`,
);
connection.closeSync();
instance.closeSync();

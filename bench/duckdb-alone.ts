import { DuckDBInstance } from "@duckdb/node-api";

/** What a person would do instead of a load: `node duckdb-alone.ts <database> <directory of Parquet files>`. */
const [database, directory] = process.argv.slice(2);
const instance = await DuckDBInstance.create(database);
const connection = await instance.connect();
await connection.run(
	`CREATE TABLE events AS SELECT event_id, timestamp, body, date FROM read_parquet('${directory}/*.parquet')`,
);
connection.closeSync();
instance.closeSync();

import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** For all who read or write files with it: another one takes 20 ms of CPU time. */
let database: Promise<DuckDBInstance> | undefined;

/** Calls `work` with a connection of its own to a DuckDB without a file. What it creates must be temporary. */
export async function withDuckDB<T>(
	work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
	database ??= DuckDBInstance.create(":memory:");
	const connection = await (await database).connect();
	try {
		return await work(connection);
	} finally {
		connection.closeSync();
	}
}

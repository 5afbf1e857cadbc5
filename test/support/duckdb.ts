import { basename, extname } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** Of a statement about a few rows, a third would go into waking other threads up. */
export const oneThread = { threads: "1" };

/** For all who read or write files with it: another one takes 20 ms of CPU time. */
let database: Promise<DuckDBInstance> | undefined;

/** Calls `work` with a connection of its own to a DuckDB without a file. What it creates must be temporary. */
export async function withDuckDB<T>(
	work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
	database ??= DuckDBInstance.create(":memory:", oneThread);
	const connection = await (await database).connect();
	try {
		return await work(connection);
	} finally {
		connection.closeSync();
	}
}

/** Files that are attached at the moment, one at a time. */
let attached: Promise<unknown> = Promise.resolve();

/** The same with a DuckDB file as its database, which is let go of afterwards. */
export function withDuckDBFile<T>(
	file: string,
	mode: "READ_ONLY" | "READ_WRITE",
	work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
	const asked = attached.then(() =>
		withDuckDB(async (connection) => {
			// By the name that it has as a database of its own.
			const name = `"${basename(file, extname(file))}"`;
			await connection.run(
				`ATTACH '${file.replaceAll("'", "''")}' AS ${name} (${mode})`,
			);
			try {
				await connection.run(`USE ${name}; SET SESSION TimeZone = 'UTC'`);
				return await work(connection);
			} finally {
				await connection.run(`USE memory; DETACH ${name}`);
			}
		}),
	);
	attached = asked.catch(() => undefined);
	return asked;
}

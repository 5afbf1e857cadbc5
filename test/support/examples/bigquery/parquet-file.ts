import { quoteText } from "../../../../ingest/duckdb/quoting.ts";

/** Writes the rows of a query of DuckDB's into a file. */
export async function writeParquet(file: string, query: string): Promise<void> {
	// Imported only here: pages are generated from lists whose checks need it.
	const { DuckDBInstance } = await import("@duckdb/node-api");
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run(
			`COPY (${query}) TO ${quoteText(file)} (FORMAT parquet)`,
		);
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

import { quoteText } from "../../../../packages/duckdb/quoting.ts";

/** Writes the rows of a query of DuckDB's into a file. */
export async function writeParquet(file: string, query: string): Promise<void> {
	// Imported only here: pages are generated from lists whose checks need it.
	const { withDuckDB } = await import("../../duckdb.ts");
	await withDuckDB((duckdb) =>
		duckdb.run(`COPY (${query}) TO ${quoteText(file)} (FORMAT parquet)`),
	);
}

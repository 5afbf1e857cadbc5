export const formats = ["table", "json", "csv"] as const;
export type SqlFormat = (typeof formats)[number];

export interface SqlOptions {
	query: string;
	format: SqlFormat;
	/** The DuckDB file itself. Without it, the namespace's folder of the warehouse has the file. */
	file?: string | undefined;
	namespace?: string | undefined;
	/** A Destination, whose file is `path` in that folder, or else has its name. */
	destination?: string | undefined;
	path?: string | undefined;
}

/** The command line names something that doesn't exist. The message says what to type instead. */
export class SqlUsageError extends Error {
	override name = "SqlUsageError";
}

/** What a query gives. Its rows are read once, as `texts` or as `values`. */
export interface QueryResult {
	/** `numeric` columns stand on the right in a table. */
	columns: { name: string; numeric: boolean }[];
	/** As the warehouse writes them; NULL is null. */
	texts: AsyncIterable<(string | null)[]>;
	/** As JSON has them. A number that JSON readers would round (RFC 8259 §6) is a string. */
	values: AsyncIterable<unknown[]>;
}

/** An identifier for SQL: any name, even a keyword or one with quotes. */
export function quoteName(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/** A string literal for SQL. DuckDB has no backslash escapes in it. */
export function quoteText(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}

/**
 * The rows of Parquet files, as a table to select from; with `filename`, each with a column that has its file, and with `rowNumber`
 * with a column `file_row_number` that has its place there, from 0.
 */
export function parquetRows(
	files: string[],
	{ filename = false, rowNumber = false } = {},
): string {
	const options = `${filename ? ", filename = true" : ""}${rowNumber ? ", file_row_number = true" : ""}`;
	return `read_parquet([${files.map(quoteText).join(", ")}]${options})`;
}

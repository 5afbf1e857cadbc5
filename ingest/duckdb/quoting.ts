/** An identifier for SQL: any name, also one with quotes or that is a keyword. */
export function quoteName(name: string): string {
	return `"${name.replaceAll('"', '""')}"`;
}

/** A string literal for SQL. DuckDB knows no backslash escapes in it. */
export function quoteText(text: string): string {
	return `'${text.replaceAll("'", "''")}'`;
}

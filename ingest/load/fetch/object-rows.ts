import { quoteText } from "../../duckdb/quoting.ts";

/** The rows of Parquet files, as something to select from. */
export function objectRows(files: string[]): string {
	return `read_parquet([${files.map(quoteText).join(", ")}])`;
}

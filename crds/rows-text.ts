/** A number of rows, for people. */
export function rowsText(rows = 0): string {
	return `${rows} ${rows === 1 ? "row" : "rows"}`;
}

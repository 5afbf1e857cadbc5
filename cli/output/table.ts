/** Left-aligned columns, three spaces apart, as kubectl prints them. */
export function table(rows: string[][]): string {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => row[column]!.length)),
	);
	return rows
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column]!))
				.join("   ")
				.trimEnd(),
		)
		.map((line) => `${line}\n`)
		.join("");
}

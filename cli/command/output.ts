/** Left-aligned columns, three spaces apart, as kubectl prints them. */
export function table(rows: string[][]): string {
	const cells = rows.map((row) => row.map(cellText));
	const widths = (cells[0] ?? []).map((_, column) =>
		Math.max(...cells.map((row) => row[column]!.length)),
	);
	return cells
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column]!))
				.join("   ")
				.trimEnd(),
		)
		.map((line) => `${line}\n`)
		.join("");
}

/** A cell never breaks its line, nor writes to the terminal: senders choose some of its text. */
function cellText(text: string): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
	return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
}

/**
 * The lines of a Markdown table, and an empty one. Cells are Markdown of one line.
 * GFM, https://github.github.com/gfm/#tables-extension-
 */
export function table(head: string[], rows: unknown[][]): string[] {
	const line = (cells: unknown[]) =>
		`| ${cells.map((cell) => prose(String(cell)).replaceAll("|", "\\|")).join(" | ")} |`;
	return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

/** Markdown in which `<`, outside of code, is no HTML: a message may say `sns.<region>.amazonaws.com`. */
export function prose(markdown: string): string {
	return markdown
		.split(/(`[^`]*`)/)
		.map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "\\<")))
		.join("");
}

import { escapedForTerminal } from "../../escapes/terminal.ts";

/** A column to print. `numeric` columns are right-aligned. */
export interface PrintedColumn {
	name: string;
	numeric: boolean;
}

const narrowest = 8;

/**
 * Rows as an aligned table, like psql's. Control characters become escapes, so that a row stays on one line. With `width`,
 * columns that don't fit into that many terminal cells are cut with "…".
 */
export function renderTable(
	columns: PrintedColumn[],
	rows: (string | null)[][],
	width?: number,
): string {
	const head = columns.map(({ name }) => visible(name));
	const cells = rows.map((row) => row.map((cell) => visible(cell ?? "NULL")));
	const natural = head.map((name, index) =>
		cells.reduce(
			(most, row) => Math.max(most, displayWidth(row[index] ?? "")),
			displayWidth(name),
		),
	);
	const widths = width === undefined ? natural : shrink(natural, width);
	const line = (row: string[], right: (index: number) => boolean) =>
		` ${row.map((cell, index) => padded(cell, widths[index] ?? 0, right(index))).join(" | ")}`.trimEnd();
	return `${[
		line(head, () => false),
		widths.map((cells) => "-".repeat(cells + 2)).join("+"),
		...cells.map((row) => line(row, (index) => columns[index]!.numeric)),
		`(${rows.length} ${rows.length === 1 ? "row" : "rows"})`,
	].join("\n")}\n`;
}

/** Cuts the widest columns first, all to the same width, and none below {@link narrowest}. */
function shrink(natural: number[], width: number): number[] {
	const available = width - 3 * natural.length;
	let cap = Math.max(...natural, narrowest);
	const capped = () => natural.map((cells) => Math.min(cells, cap));
	while (cap > narrowest && capped().reduce((sum, c) => sum + c, 0) > available)
		cap--;
	return capped();
}

function padded(text: string, width: number, right: boolean): string {
	const own = displayWidth(text);
	if (own > width) return cut(text, width);
	const space = " ".repeat(width - own);
	return right ? space + text : text + space;
}

function cut(text: string, width: number): string {
	let kept = "";
	let used = 0;
	for (const character of text) {
		used += displayWidth(character);
		if (used > width - 1) break;
		kept += character;
	}
	return `${kept}…${" ".repeat(Math.max(0, width - 1 - displayWidth(kept)))}`;
}

function visible(text: string): string {
	return escapedForTerminal(
		text
			.replaceAll("\n", "\\n")
			.replaceAll("\r", "\\r")
			.replaceAll("\t", "\\t"),
	);
}

/** Terminal cells: two for East Asian wide characters and emoji (roughly Unicode Annex 11), none for combining ones. */
const wide =
	/[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const combining = /\p{Mark}|\u200d/u;

function displayWidth(text: string): number {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: a shortcut for plain ASCII
	if (/^[\u0000-\u007f]*$/.test(text)) return text.length;
	let cells = 0;
	for (const character of text)
		cells += wide.test(character) ? 2 : combining.test(character) ? 0 : 1;
	return cells;
}

/**
 * One CSV record (RFC 4180: lines end in CRLF) that a spreadsheet shows and doesn't carry out. NULL is an empty field, an empty
 * string a quoted one. A text that a spreadsheet would take for a formula begins with an apostrophe
 * (owasp.org/www-community/attacks/CSV_Injection), as people write one that is none.
 */
export function csvLine(cells: readonly (string | null)[]): string {
	return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: string | null): string {
	if (cell === null) return "";
	const text = formula.test(cell) && !number.test(cell) ? `'${cell}` : cell;
	return text === "" || /[",;\t\r\n]/.test(text)
		? `"${text.replaceAll('"', '""')}"`
		: text;
}

/** Spreadsheets pass over white space before it, and take the wide forms for the same signs. */
const formula = /^(?:[\t\r\n]|[\s\p{C}]*[=+\-@＝＋－＠])/u;
const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/**
 * One CSV record (RFC 4180: lines end in CRLF) that a spreadsheet shows and doesn't carry out. NULL is an empty field, an empty
 * string a quoted one. A text that a spreadsheet would take for a formula begins with an apostrophe
 * (owasp.org/www-community/attacks/CSV_Injection), as people write one that is none. So does what follows a semicolon, a tab or a line
 * end within a text: where the decimal sign is a comma, spreadsheets separate by semicolons, and a quote in the middle of a field means nothing.
 */
export function csvLine(cells: readonly (string | null)[]): string {
	return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: string | null): string {
	if (cell === null) return "";
	const isFormula = formula.test(cell) && !number.test(cell);
	const text = (isFormula ? `'${cell}` : cell).replace(
		separator,
		(found, at: number, whole: string) =>
			sign.test(whole.charAt(at + found.length)) ? `${found}'` : found,
	);
	return text === "" || /[",;\t\r\n]/.test(text)
		? `"${text.replaceAll('"', '""')}"`
		: text;
}

/** Spreadsheets pass over white space before it, and take the wide forms for the same signs. */
const formula = /^(?:[\t\r\n]|[\s\p{C}]*[=+\-@＝＋－＠])/u;
const sign = /[=+\-@＝＋－＠]/;
/** With what is passed over behind it. It looks at nothing further, so a megabyte of tabs is one match. */
const separator = /[;\t\r\n][\s\p{C}"]*/gu;
const number = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

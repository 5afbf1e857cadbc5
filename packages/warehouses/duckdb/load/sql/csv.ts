/** One CSV record (RFC 4180: lines end in CRLF). NULL is an empty field, an empty string a quoted one. */
export function csvLine(cells: (string | null)[]): string {
	return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: string | null): string {
	if (cell === null) return "";
	return cell === "" || /[",\r\n]/.test(cell)
		? `"${cell.replaceAll('"', '""')}"`
		: cell;
}

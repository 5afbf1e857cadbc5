/** A browser lays out as much in a few milliseconds. */
const pieceChars = 10_000;

/** Each with where it starts. They end with a line, or within one that is very long. */
export function piecesOf(text: string): [start: number, piece: string][] {
	const pieces: [number, string][] = [];
	for (let start = 0; start < text.length; ) {
		const line = text.indexOf("\n", start + pieceChars) + 1;
		const isLong = line === 0 || line > start + 2 * pieceChars;
		const end = isLong ? afterPair(text, start + 2 * pieceChars) : line;
		pieces.push([start, text.slice(start, end)]);
		start = end;
	}
	return pieces;
}

/** Two halves of one character (a surrogate pair) stay together. */
function afterPair(text: string, at: number): number {
	return /[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at + 1 : at;
}

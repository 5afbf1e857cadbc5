import { expect, test } from "vitest";
import { piecesOf } from "./text-pieces.ts";

test("pieces of a long text are the text, each of some lines, or a part of a line that is very long", () => {
	const lines = `${"x".repeat(99)}\n`.repeat(1_000);
	const long = "👍".repeat(50_001);
	for (const text of [lines, long, `a${long}\n${lines}${long}`]) {
		const pieces = piecesOf(text);
		expect(pieces.map(([, piece]) => piece).join("")).toBe(text);
		for (const [start, piece] of pieces) {
			expect(piece.length).toBeLessThanOrEqual(20_001);
			expect(text.slice(start, start + piece.length)).toBe(piece);
			expect(piece).not.toMatch(/^[\uDC00-\uDFFF]/);
		}
	}
	expect(piecesOf(lines).every(([, piece]) => piece.endsWith("\n"))).toBe(true);
});

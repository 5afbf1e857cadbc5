import { expect, test } from "vitest";
import { hostileTexts } from "../../test/support/strangers/hostile-texts.ts";
import { csvLine } from "./csv.ts";

test("fields with separators, quotes or line ends are quoted; NULL and an empty string differ", () => {
	expect(csvLine(["a", 'say "hi", then\nbye', null, ""])).toBe(
		'a,"say ""hi"", then\nbye",,""\r\n',
	);
});

/** The cells of a spreadsheet that has another separator: only a quote at a cell's beginning means anything to it. */
function cellsBy(separator: string, text: string): string[] {
	const cells = [""];
	let isQuoted = false;
	for (const character of text) {
		const cell = cells.at(-1)!;
		if (character === '"' && (isQuoted || cell === "")) isQuoted = !isQuoted;
		else if (!isQuoted && `${separator}\r\n`.includes(character))
			cells.push("");
		else cells[cells.length - 1] = cell + character;
	}
	return cells;
}

const second = [
	...hostileTexts,
	"a;=1+1;b",
	"a;=cmd|' /C calc'!A0;b",
	"a\t@SUM(1+1)\tb",
	'a;"=1+1";b',
	'a;"" ＝1+1',
	"a\n=1+1",
	"a\r\n\u200b+1+1",
	"a\t\n;\t=1+1",
];

test.each([";", "\t"])(
	"no cell begins as a formula for a spreadsheet that separates by %j, either",
	(separator) => {
		for (const text of second)
			for (const cell of cellsBy(separator, csvLine(["x", text, "y"])))
				expect(cell, JSON.stringify(text)).not.toMatch(
					/^[\s\p{C}"]*[=+\-@＝＋－＠]/u,
				);
	},
);

test("a megabyte of separators takes no longer than other texts", () => {
	const text = `;${"\t".repeat(1_000_000)}`;
	expect(csvLine([text])).toBe(`"${text}"\r\n`);
});

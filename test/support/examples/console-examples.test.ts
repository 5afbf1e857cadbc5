import { expect, test } from "vitest";
import { consoleExamples, isShown } from "./console-examples.ts";

test("the commands of a document come with what they print", () => {
	const document = [
		"```",
		"$ not this",
		"```",
		"```console",
		"$ one",
		"a",
		"b",
		"$ two",
		"```",
		"text",
		"```console",
		"$ three",
		"c",
		"```",
	].join("\n");
	expect(consoleExamples(document)).toEqual([
		{ command: "one", shown: "a\nb" },
		{ command: "two", shown: "" },
		{ command: "three", shown: "c" },
	]);
});

test.each([
	["a …: b", "a 1,\n2: b", true],
	["a b\nc", "  a    b\nc\n", true],
	["x | y\n---+---", "x   | y\n----+------", true],
	["a.b", "axb", false],
	["a", "a b", false],
	["… b", "a b b", true],
	["a … c", "a b c d", false],
	["a … b …", "a x b ", true],
	["…---…a", "x - a", true],
	["… a", "a", false],
	["", "error", false],
])("%j printed as %j is a match: %s", (shown, printed, matches) => {
	expect(isShown(printed, shown)).toBe(matches);
});

test("many gaps, whatever is printed, are filled in one pass", () => {
	const shown = Array(60).fill("…   …").join("\n");
	const printed = Array(200).fill("a b c d").join("\n");
	expect(isShown(`${printed}!`, `${shown}!`)).toBe(true);
	expect(isShown(printed, `${shown}?`)).toBe(false);
});

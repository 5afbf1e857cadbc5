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
	["", "error", false],
])("%j printed as %j is a match: %s", (shown, printed, matches) => {
	expect(isShown(printed, shown)).toBe(matches);
});

test("what a document with many gaps doesn't show is known as such in time", () => {
	const shown = Array(60).fill("…   …").join("\n");
	const printed = Array(200).fill("a b c d").join("\n");
	expect(isShown(`${printed}!`, `${shown}!`, 500)).toBe(true);
	expect(isShown(printed, `${shown}?`, 500)).toBe(false);
});

import { expect, test } from "vitest";
import { consoleExamples, shownPattern } from "./console-examples.ts";

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
	expect(shownPattern(shown).test(printed)).toBe(matches);
});

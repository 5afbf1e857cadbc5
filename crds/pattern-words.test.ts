import { expect, test } from "vitest";
import { patternWords } from "./pattern-words.ts";
import { readResourceSchemas } from "./resource-schema.ts";

const patterns = new Set(
	[
		...JSON.stringify(readResourceSchemas()).matchAll(
			/"pattern":("(?:[^"\\]|\\.)*")/g,
		),
	].map(([, text]) => JSON.parse(text!) as string),
);

test.each([...patterns])("a person need not read the pattern %s", (pattern) => {
	expect(patternWords(pattern)).toMatch(/^must /);
});

import { expect, test } from "vitest";
import { patternWords } from "./pattern-words.ts";
import { readResourceSchemas } from "./resource-schema.ts";
import { validateSpec } from "./spec-validator.ts";

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

test("a text of the wrong form is refused with words and an example", () => {
	const pipeline = {
		sourceRef: { name: "shop" },
		destinationRef: { name: "warehouse" },
		schedule: { type: "Daily", updateTime: "6:30" },
	};
	expect(validateSpec("Pipeline", pipeline)).toEqual([
		{
			path: "spec.schedule.updateTime",
			message: "must be a time of day such as 06:30",
		},
	]);
});

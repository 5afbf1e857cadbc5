import { expect, test } from "vitest";
import { isLonger, keptFrom } from "./retention.ts";

const today = "2026-03-31";

test.each([
	["30 days, unless a Source says more", undefined, "2026-03-01"],
	["more days", { days: 400 }, "2025-02-24"],
	[
		"nothing from before they were raised",
		{ days: 400, from: "2026-02-01" },
		"2026-02-01",
	],
	[
		"that ends once they are over",
		{ days: 40, from: "2026-02-01" },
		"2026-02-19",
	],
	["everything", { days: 0 }, "1970-01-01"],
	["everything since", { days: 0, from: "2026-02-01" }, "2026-02-01"],
])("kept: %s", (_, retention, from) => {
	expect(keptFrom(retention, today)).toBe(from);
});

test.each([
	[400, 30, true],
	[30, 400, false],
	[30, 30, false],
	[0, 400, true],
	[400, 0, false],
	[0, 0, false],
])("whether %i days are longer than %i", (a, b, expected) => {
	expect(isLonger(a, b)).toBe(expected);
});

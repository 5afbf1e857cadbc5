import { expect, test } from "vitest";
import { manifestDates } from "./manifest-dates.ts";

const today = "2026-03-31";
const keptFrom = "2026-03-01";

test.each([
	["first event to today", {}, "2026-03-29", ["2026-03-29", "2026-03-31"]],
	[
		"what was asked, inside",
		{ start: "2026-03-10", end: "2026-03-11" },
		"2026-03-01",
		["2026-03-10", "2026-03-11"],
	],
	[
		"no earlier than the first event",
		{ start: "2026-03-01" },
		"2026-03-30",
		["2026-03-30", "2026-03-31"],
	],
	[
		"no earlier than the first date that is kept",
		{ start: "2025-01-01" },
		"2025-06-01",
		["2026-03-01", "2026-03-31"],
	],
	[
		"no later than the snapshot",
		{ start: "2026-03-31", end: "2026-05-01" },
		"2026-03-01",
		["2026-03-31", "2026-03-31"],
	],
])("%s", (_, asked, firstEventDate, [first, last]) => {
	const dates = manifestDates(asked, firstEventDate, keptFrom, today);
	expect([dates[0], dates.at(-1)]).toEqual([first, last]);
});

test.each([
	["no event yet", {}, undefined],
	[
		"asked in reverse",
		{ start: "2026-03-20", end: "2026-03-19" },
		"2026-03-01",
	],
	["asked before the first event", { end: "2026-03-01" }, "2026-03-02"],
	["asked for tomorrow", { start: "2026-04-01" }, "2026-03-01"],
])("empty: %s", (_, asked, firstEventDate) => {
	expect(manifestDates(asked, firstEventDate, keptFrom, today)).toEqual([]);
});

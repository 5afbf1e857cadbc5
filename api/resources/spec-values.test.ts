import { expect, test } from "vitest";
import { valueErrors } from "./spec-values.ts";

const five =
	'must have five fields (minute, hour, day of month, month, day of week), such as "30 6 * * 1-5"';

test.each([
	["61 * * * *", /^must have five fields .*: .*61/],
	["0 30 6 * * *", `${five}: it has 6 fields`],
	["0 0 30 2 *", `${five}: it never matches a date`],
	["often", `${five}: it has 1 field`],
	["", `${five}: it has 1 field`],
])("the cron text %j is refused with what would be right", (cron, message) => {
	expect(valueErrors("Pipeline", { schedule: { cron } })).toEqual([
		{
			path: "schedule.cron",
			message:
				typeof message === "string" ? message : expect.stringMatching(message),
		},
	]);
});

test("a time zone that doesn't exist is refused", () => {
	const schedule = { timeZone: "Mars/Phobos" };
	expect(valueErrors("Pipeline", { schedule })).toEqual([
		{
			path: "schedule.timeZone",
			message: "must be an IANA time zone, such as Europe/Berlin",
		},
	]);
});

test("an Import's time zone that doesn't exist is refused", () => {
	const spec = { import: { timeZone: "+02:00" } };
	expect(valueErrors("Operation", spec)).toEqual([
		{
			path: "import.timeZone",
			message: "must be an IANA time zone, such as Europe/Berlin",
		},
	]);
});

test("a column's time zone that doesn't exist is refused", () => {
	const zones = ["Europe/Berlin", "Mars/Phobos", "+02:00", "PST", undefined];
	const bodyColumns = zones.map((timeZone) => ({ timeZone }));
	expect(valueErrors("Pipeline", { table: { bodyColumns } })).toEqual(
		[1, 2, 3].map((index) => ({
			path: `table.bodyColumns[${index}].timeZone`,
			message: "must be an IANA time zone, such as Europe/Berlin",
		})),
	);
});

test.each([
	[
		"Pipeline",
		{ schedule: { cron: " 30 6 * * 1-5 ", timeZone: "Europe/Berlin" } },
	],
	["Pipeline", {}],
	["Operation", { import: { timeZone: "Europe/Berlin" } }],
	["Operation", { import: 1 }],
	["Pipeline", { table: { bodyColumns: [1, null] } }],
	["Pipeline", { table: { bodyColumns: "x" } }],
	["Pipeline", { schedule: { cron: 1, timeZone: null } }],
	["Source", { schedule: { cron: "x" } }],
] as const)("nothing is wrong with the values of %s %j", (kind, spec) => {
	expect(valueErrors(kind, spec)).toEqual([]);
});

import { expect, test } from "vitest";
import { addedSince, manifestDates, perhapsAdded } from "./manifest-dates.ts";

const released = (date: string, ...times: string[]) =>
	[
		date,
		{
			records: times.map((time) => ({
				key: time,
				bytes: 1,
				modifiedMs: Date.parse(time),
			})),
			bytesOf: new Map<string, number>(),
		},
	] as const;

const releases = new Map([
	released("2026-03-01", "2026-03-30T09:00:00Z"),
	released("2026-03-05", "2026-03-20T00:00:00Z", "2026-03-30T09:00:00Z"),
	released("2026-03-07", "2026-03-20T00:00:00Z"),
	// Objects that no record names.
	released("2026-03-06"),
	// Of the Run's own dates.
	released("2026-03-29", "2026-03-30T09:00:00Z"),
]);

test.each([
	["2026-03-01", "2026-03-30T08:00:00Z", ["2026-03-01", "2026-03-05"]],
	["2026-03-02", "2026-03-30T08:00:00Z", ["2026-03-05"]],
	// The store's clock may be late.
	["2026-03-02", "2026-03-30T09:10:00Z", ["2026-03-05"]],
	["2026-03-02", "2026-03-30T09:30:00Z", []],
	["2026-03-06", "2026-03-19T00:00:00Z", ["2026-03-07"]],
])(
	"a table whose window begins at %s and that was loaded at %s may lack events that were released on %j",
	(earliest, since, dates) => {
		const held = { start: "2026-03-29", earliest, since };
		expect(perhapsAdded(held, releases)).toEqual(dates);
	},
);

test("of these dates, those count that have more records than the last Run's manifest had", () => {
	const dates = ["2026-03-01", "2026-03-05"];
	const since = (counted: Record<string, number>) =>
		addedSince(dates, releases, counted);
	expect(since({})).toEqual(dates);
	expect(since({ "2026-03-01": 1, "2026-03-05": 1 })).toEqual(["2026-03-05"]);
	expect(since({ "2026-03-01": 1, "2026-03-05": 2 })).toEqual([]);
	// Retention has removed a record meanwhile.
	expect(since({ "2026-03-01": 2, "2026-03-05": 3 })).toEqual([]);
});

test("a manifest has those dates beside the ones that were asked for, within the same bounds", () => {
	const also = ["2026-02-01", "2026-03-01", "2026-03-05", "2026-03-12"];
	const of = (end?: string) =>
		manifestDates(
			{ start: "2026-03-09", ...(end !== undefined && { end }), also },
			"2026-01-01",
			"2026-02-10",
			"2026-03-10",
		);
	const all = ["2026-03-01", "2026-03-05", "2026-03-09", "2026-03-10"];
	expect(of()).toEqual(all);
	expect(of("2026-03-09")).toEqual(all.slice(0, 3));
	// The range has ended before the days that a Run would go on with.
	expect(of("2026-03-04")).toEqual(all.slice(0, 1));
});

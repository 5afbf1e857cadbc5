import { expect, test } from "vitest";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import type { IndexedSource } from "../../archive/ledger/ledger-index.ts";
import { dueDates } from "./due-dates.ts";

function sourceOf(
	dates: Record<string, number>,
	sourceKey = "5a",
): IndexedSource {
	return {
		account: "shop",
		sourceKey,
		firstEventDate: "2026-03-01",
		lastEventTime: "",
		archivedThrough: "",
		quarantined: new Map(),
		deviations: new Map(),
		objects: new Map(
			Object.entries(dates).map(([date, count]) => [
				date,
				DateObjects.of(
					Array.from({ length: count }, (_, at) => ({
						stream: "s",
						first: at + 1,
						rows: 1,
					})),
				),
			]),
		),
	};
}

const closedThrough = "2026-03-20";

test("events in quarantine are due apart from the date's others", () => {
	const { objects, ...rest } = sourceOf({ "2026-03-20": 8, "2026-03-19": 2 });
	const due = (events: typeof objects, quarantined: typeof objects) =>
		dueDates(
			[{ ...rest, objects: events, quarantined }],
			closedThrough,
			8,
			(folder) => folder.date === "2026-03-18" && !folder.quarantined,
		).map(({ date, quarantined, objects }) => [
			date,
			quarantined,
			objects.length,
		]);
	expect(due(objects, new Map())).toEqual([["2026-03-20", undefined, 8]]);
	expect(due(new Map(), objects)).toEqual([["2026-03-20", true, 8]]);
	const recorded = sourceOf({ "2026-03-18": 8 }).objects;
	expect(due(recorded, recorded)).toEqual([["2026-03-18", true, 8]]);
});

test.each<[string, string, number, boolean, boolean]>([
	["closed, of many objects", "2026-03-20", 8, false, true],
	["not closed yet", "2026-03-21", 8, false, false],
	["of too few objects", "2026-03-20", 7, false, false],
	["that has a record", "2026-03-20", 8, true, false],
	["of a week ago", "2026-03-14", 8, false, true],
	["older than a week", "2026-03-13", 8, false, false],
])("a date %s: %s, %i objects", (_, date, count, hasRecord, isDue) => {
	const due = dueDates(
		[sourceOf({ [date]: count })],
		closedThrough,
		8,
		() => hasRecord,
	);
	expect(due).toHaveLength(isDue ? 1 : 0);
});

test("dates come oldest first, and their objects in the order of their cuts", () => {
	const sources = [
		sourceOf({ "2026-03-20": 3, "2026-03-18": 2 }),
		sourceOf({ "2026-03-19": 2 }, "5b"),
	];
	const due = dueDates(sources, closedThrough, 2, () => false);
	expect(
		due.map(({ sourceKey, date, objects }) => [
			sourceKey,
			date,
			objects.map(({ first }) => first),
		]),
	).toEqual([
		["5a", "2026-03-18", [1, 2]],
		["5b", "2026-03-19", [1, 2]],
		["5a", "2026-03-20", [1, 2, 3]],
	]);
});

test("objects of several streams come stream by stream", () => {
	const source = sourceOf({});
	const objects = ["b", "a", "c", "a"].map((stream, at) => ({
		stream,
		first: 7 + at,
		rows: 1,
	}));
	source.objects.set("2026-03-20", DateObjects.of(objects));
	const [due] = dueDates([source], closedThrough, 1, () => false);
	expect(due!.objects.map(({ stream, first }) => stream + first)).toEqual([
		"a8",
		"a10",
		"b7",
		"c9",
	]);
});

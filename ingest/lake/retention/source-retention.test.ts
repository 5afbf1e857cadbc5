import { expect, test } from "vitest";
import {
	addDays,
	datesBetween,
	startOfDate,
} from "../../../packages/contracts/utc-date.ts";
import {
	loweredRecord,
	type RetentionRecord,
	recordFor,
	retentionOf,
} from "./source-retention.ts";

const today = "2026-03-20";
const source = { account: "shop", sourceKey: "k" };
const base = { version: 1, ...source } as const;

type Days = Partial<RetentionRecord> & { days: number };

test.each<
	[
		string,
		(Days & { from: string }) | undefined,
		number,
		Days | undefined,
		string?,
	]
>([
	["the usual days, which need no record", undefined, 30, undefined],
	[
		"more days: events before the usual ones are gone",
		undefined,
		400,
		{ days: 400, from: "2026-02-18" },
	],
	["forever", undefined, 0, { days: 0, from: "2026-02-18" }],
	[
		"more days before anything was deleted: older events can be imported",
		undefined,
		400,
		{ days: 400, from: "2025-02-13" },
		"2026-02-18",
	],
	["forever, the same", undefined, 0, { days: 0, from: "1970-01-01" }, today],
	[
		"more days again: what was imported before may be gone",
		{ days: 60, from: "2026-01-01" },
		400,
		{ days: 400, from: "2026-01-19" },
		today,
	],
	[
		"more days later: what is kept by then stays",
		{ days: 60, from: "2025-01-01" },
		400,
		{ days: 400, from: "2026-01-19" },
	],
	[
		"fewer days: the earlier ones hold on",
		{ days: 400, from: "2026-01-01" },
		30,
		{ days: 400, from: "2026-01-01", next: 30 },
	],
	[
		"an end of forever",
		{ days: 0, from: "2026-01-01" },
		400,
		{ days: 0, from: "2026-01-01", next: 400 },
	],
	["the same again", { days: 400, from: "2026-01-01" }, 400, undefined],
	[
		"the same fewer days again",
		{ days: 400, from: "2026-01-01", next: 30 },
		30,
		undefined,
	],
	[
		"the former days, before fewer hold",
		{ days: 400, from: "2026-01-01", next: 30 },
		400,
		{ days: 400, from: "2026-01-01" },
	],
])("asked for %s", (_, newest, wanted, expected, firstDate = "2026-01-01") => {
	const record = newest && { ...base, ...newest };
	expect(recordFor(source, wanted, record, today, firstDate)).toEqual(
		expected && { ...base, ...expected },
	);
});

const record = { ...base, days: 400, from: "2026-01-01", next: 30 };
const nowMs = startOfDate(today);
const allDays = datesBetween(addDays(today, -60), today);
const kept = (daysAgo: number) => ({
	record,
	number: 2,
	modifiedMs: nowMs - daysAgo * 86_400_000,
});

test.each([
	["8 days after the request", 8, {}, true],
	["7 days after the request", 7, {}, false],
	["when one clock has jumped", 1, { nowMs: nowMs + 1e10 }, false],
	[
		"when both clocks have jumped",
		1,
		{ nowMs: nowMs + 1e10, storeNowMs: nowMs + 1e10 },
		false,
	],
])("whether fewer days hold %s", (_, daysAgo, change, expected) => {
	const witnesses = { nowMs, storeNowMs: nowMs, daysSeen: allDays, ...change };
	const { next: __, ...rest } = record;
	expect(loweredRecord(kept(daysAgo), witnesses)).toEqual(
		expected ? { ...rest, days: 30 } : undefined,
	);
	const settled = { ...kept(daysAgo), record: rest };
	expect(loweredRecord(settled, witnesses)).toBeUndefined();
});

test("the published retention says from when fewer days hold", () => {
	expect(retentionOf(kept(2))).toEqual({
		...base,
		days: 400,
		from: "2026-01-01",
		next: { days: 30, date: "2026-03-26" },
	});
});

test.each([
	["2026-03-12T00:10:00Z", "2026-03-19T00:50:00Z", false],
	["2026-03-12T00:10:00Z", "2026-03-19T23:59:00Z", false],
	["2026-03-12T00:10:00Z", "2026-03-20T00:00:00Z", true],
	["2026-03-12T23:50:00Z", "2026-03-20T00:00:00Z", true],
])(
	"fewer days that were asked for at %s hold at %s, not before the published date: %s",
	(asked, at, expected) => {
		const one = { record, number: 2, modifiedMs: Date.parse(asked) };
		expect(retentionOf(one).next?.date).toBe("2026-03-20");
		const clock = Date.parse(at);
		const daysSeen = allDays.filter((day) => day <= at.slice(0, 10));
		const witnesses = { nowMs: clock, storeNowMs: clock, daysSeen };
		expect(loweredRecord(one, witnesses) !== undefined).toBe(expected);
	},
);

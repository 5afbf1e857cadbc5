import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ListedObject } from "../../../packages/bucket/object-store.ts";
import {
	addDays,
	datesBetween,
	startOfDate,
} from "../../../packages/contracts/utc-date.ts";
import {
	expiredCuts,
	isAged,
	isExpired,
	type TimeWitnesses,
} from "./retention.ts";

const today = "2026-03-20";
const nowMs = startOfDate(today) + 3_600_000;

function witnesses(change: Partial<TimeWitnesses> = {}): TimeWitnesses {
	const daysSeen = datesBetween(addDays(today, -100), today);
	return { nowMs, storeNowMs: nowMs, daysSeen, ...change };
}

function object(daysAgo: number, writtenDaysAgo = daysAgo) {
	const date = addDays(today, -daysAgo);
	return {
		key: `p/events/account=a/source=b/date=${date}/s-1.parquet`,
		bytes: 1,
		modifiedMs: startOfDate(addDays(today, -writtenDaysAgo)),
	};
}

const yearLaterMs = nowMs + 365 * 86_400_000;
const jumpedDay = addDays(today, 365);

test.each<[string, ReturnType<typeof object>, Partial<TimeWitnesses>, boolean]>(
	[
		["of today − 30 stays", object(30), {}, false],
		["of today − 31 stays", object(31), {}, false],
		["of today − 32 goes", object(32), {}, true],
		[
			"of an old date that was written recently stays",
			object(40, 20),
			{},
			false,
		],
		// Written long ago, so that nothing but the clocks' agreement about its date keeps it.
		[
			"stays when this clock alone has jumped",
			object(1, 40),
			{ nowMs: yearLaterMs },
			false,
		],
		[
			"stays when the store's clock alone has jumped",
			object(1, 40),
			{ storeNowMs: yearLaterMs },
			false,
		],
		["of today − 31 stays, whenever it was written", object(31, 40), {}, false],
		[
			"stays when both clocks have jumped",
			object(1),
			{
				nowMs: yearLaterMs,
				storeNowMs: yearLaterMs,
				daysSeen: [...witnesses().daysSeen, jumpedDay],
			},
			false,
		],
		[
			"of an old date goes after a clock fell back by a day",
			object(40),
			{ nowMs: nowMs - 86_400_000 },
			true,
		],
		[
			"whose key has no date stays",
			{ ...object(90), key: "p/events/x" },
			{},
			false,
		],
	],
)("an object %s", (_, listed, change, expected) => {
	expect(isExpired(listed, witnesses(change))).toBe(expected);
});

const hours32Days = 32 * 24;

test.each<[string, number, Partial<TimeWitnesses>, boolean]>([
	["32 days ago", hours32Days, {}, false],
	["more than 32 days ago", hours32Days + 1, {}, true],
	["31 days ago", 31 * 24, {}, false],
	["31 days ago by the store's clock", 31 * 24, { nowMs: yearLaterMs }, false],
	["31 days ago by this clock", 31 * 24, { storeNowMs: yearLaterMs }, false],
	[
		"more than 32 days ago, with 31 days at work since",
		hours32Days + 1,
		{ daysSeen: datesBetween(addDays(today, -30), today) },
		true,
	],
	[
		"more than 32 days ago, with 30 days at work since",
		hours32Days + 1,
		{ daysSeen: datesBetween(addDays(today, -29), today) },
		false,
	],
	[
		"more than 32 days ago, with 30 days at work since its own",
		hours32Days + 1,
		{
			daysSeen: [
				addDays(today, -32),
				...datesBetween(addDays(today, -29), today),
			],
		},
		false,
	],
])("whether a record written %s has aged", (_, hours, change, aged) => {
	const modifiedMs = nowMs - hours * 3_600_000;
	const record = { key: "p/runs/x.json", bytes: 1, modifiedMs };
	expect(isAged(record, witnesses(change))).toBe(aged);
});

/** A shard's two streams, in the order of their keys. */
function cutsOf(...streams: number[][]) {
	return streams.flatMap((ages, stream) =>
		ages.map((age) => ({ ...object(age), key: `p/cuts/s${stream}/${age}` })),
	);
}

test("old cut records go, but never a stream's newest", async () => {
	const expired = (records: ListedObject[], change = {}) =>
		Array.fromAsync(
			expiredCuts(Readable.from(records), witnesses(change)),
			({ key }) => key.slice("p/cuts/".length),
		);
	const all = cutsOf([90, 40, 20], [80, 60], [50], [40, 10, 5]);
	expect(await expired(all)).toEqual(["s0/90", "s0/40", "s1/80", "s3/40"]);
	expect(await expired([])).toEqual([]);
	expect(await expired(all, { daysSeen: [today] })).toEqual([]);
});

const longAtWork = { daysSeen: datesBetween(addDays(today, -500), today) };

test.each([
	["of today − 401 stays for 400 days", 401, 400, longAtWork, false],
	["of today − 402 goes", 402, 400, longAtWork, true],
	["stays until archive was at work on as many days", 402, 400, {}, false],
	["of any date stays forever", 5_000, 0, longAtWork, false],
	["of another source goes as ever", 402, 30, {}, true],
])("an object %s", (_, age, days, change, expected) => {
	expect(isExpired(object(age), witnesses(change), days)).toBe(expected);
});

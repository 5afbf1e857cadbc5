import { expect, test } from "vitest";
import {
	addDays,
	datesBetween,
	startOfDate,
} from "../../../packages/contracts/utc-date.ts";
import { AgedStore } from "../../../test/support/doubles/aged-store.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { ShardRecords } from "./shard-records.ts";

const today = "2026-03-20";
const nowMs = startOfDate(today) + 12 * 3_600_000;
const stream = "tidemill-frames-7-aa";
const sources = Array.from({ length: 6 }, (_, n) => ({
	account: "shop",
	sourceKey: String(n).padStart(32, "0"),
}));

/** One of a day of all sources. */
function cut(date: string, first: number): CutRecord {
	const time = `${date}T11:00:00.000Z`;
	const mark = { id: "x", time };
	return {
		version: 1,
		stream,
		first,
		last: first,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: sources.map((source) => ({
			...source,
			date,
			rows: 1,
			lastEventTime: time,
		})),
	};
}

/** A shard that has archived each of the last 400 days, and compacted each on the day after it. */
function compactedShard() {
	const store = new AgedStore(nowMs);
	const index = new LedgerIndex();
	const days = datesBetween(addDays(today, -400), today);
	for (const [ago, date] of days.toReversed().entries()) {
		store.add(store.keys.cut(stream, days.length - ago), ago);
		if (ago === 0) continue;
		for (const source of sources)
			store.add(store.keys.compaction({ ...source, date }), ago - 1);
	}
	for (const [number, date] of days.entries()) index.add(cut(date, number + 1));
	const checked: string[] = [];
	/** As after a restart. */
	const records = (check = async (_: string) => true) =>
		new ShardRecords({
			store,
			shard: { number: 7, index },
			check: async (key) => {
				checked.push(key);
				return check(key);
			},
		});
	const listed = () => {
		let sum = 0;
		for (const [prefix, count] of store.listed)
			if (prefix.startsWith(store.keys.compactions())) sum += count;
		store.listed.clear();
		return sum;
	};
	return { store, index, records, checked, listed };
}

const dateOf = (key: string) => /date=([\d-]+)/.exec(key)![1]!;

test("each record is checked once, a day after it was taken, whatever restarts", async () => {
	const { records, checked } = compactedShard();
	const first = records();
	await first.look(nowMs);
	// All but yesterday's and that of the day before, which readers may still follow.
	expect(checked).toHaveLength(6 * 398);
	expect(new Set(checked).size).toBe(checked.length);
	expect(checked.map(dateOf).sort().at(-1)).toBe(addDays(today, -3));
	for (const each of [first, records(), records()]) await each.look(nowMs);
	expect(checked).toHaveLength(6 * 398);
});

test("a restart lists the dates that the index holds, and not those of a year", async () => {
	const { store, records, listed } = compactedShard();
	await records().look(nowMs);
	expect(listed()).toBe(6 * 400);
	const restarted = records();
	await restarted.look(nowMs);
	expect(listed()).toBeLessThanOrEqual(6 * 32);
	await restarted.look(nowMs);
	expect(listed()).toBe(0);
	const keyOf = (ago: number) =>
		store.keys.compaction({ ...sources[0]!, date: addDays(today, -ago) });
	for (const ago of [1, 9, 31]) expect(restarted.has(keyOf(ago))).toBe(true);
	expect(restarted.has(keyOf(0))).toBe(false);
	restarted.add(keyOf(0));
	expect(restarted.has(keyOf(0))).toBe(true);
});

test("what couldn't be removed is tried at the next look, and after a restart, and holds up no other", async () => {
	const { records, checked, store } = compactedShard();
	const bad = store.keys.compaction({
		...sources[3]!,
		date: addDays(today, -200),
	});
	const failing = records(async (key) => key !== bad);
	await failing.look(nowMs);
	expect(checked).toHaveLength(6 * 398);
	await failing.look(nowMs);
	const restarted = records();
	await restarted.look(nowMs);
	expect(checked.slice(6 * 398)).toEqual([bad, bad]);
	await restarted.look(nowMs);
	await records().look(nowMs);
	expect(checked).toHaveLength(6 * 398 + 2);
});

test("what the bucket remembers doesn't grow with time", async () => {
	const { records, store } = compactedShard();
	await records().look(nowMs);
	const notes = store.keysIn(store.keys.checkedCompactions(7));
	expect(notes).toHaveLength(1);
	const { after } = JSON.parse(store.objects.get(notes[0]!)!);
	for (const dates of Object.values<string[]>(after))
		expect(dates.length).toBeLessThanOrEqual(7);
});

test("a source that is deleted before its last records are checked doesn't hold up what the bucket remembers", async () => {
	const { store, index, records } = compactedShard();
	const archive = records();
	await archive.look(nowMs);
	const [deleted] = sources;
	index.remove(deleted!);
	const later = addDays(today, 20);
	const all = cut(later, 402);
	const groups = all.groups.filter(
		({ sourceKey }) => sourceKey !== deleted!.sourceKey,
	);
	index.add({ ...all, groups });
	const laterMs = nowMs + 20 * 24 * 3_600_000;
	store.add(store.keys.cut(stream, 402), -20);
	await archive.look(laterMs);
	const note = store.keysIn(store.keys.checkedCompactions(7)).sort().at(-1)!;
	const { through } = JSON.parse(store.objects.get(note)!);
	expect(through > today).toBe(true);
});

test("a record of this look's compaction is checked when the store's own clock says that a day is over", async () => {
	const { records, store, checked } = compactedShard();
	const shard = records();
	await shard.look(nowMs);
	checked.length = 0;
	const due = { ...sources[0]!, date: today };
	const key = store.keys.compaction(due);
	shard.add(key);
	store.add(key, 0);
	await shard.look(nowMs + 2 * 24 * 3_600_000);
	expect(checked).toEqual([]);
	// The next cut.
	store.modifiedMs.set(store.keys.cut(stream, 401), nowMs + 26 * 3_600_000);
	await shard.look(nowMs + 26 * 3_600_000);
	expect(checked).toContain(key);
});

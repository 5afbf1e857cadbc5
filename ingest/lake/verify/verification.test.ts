import { expect, test } from "vitest";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { Tombstones } from "../../archive/write/tombstones.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import { CompactionStore } from "../compaction/record.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import { countShard } from "./counted-shard.ts";
import { type FolderFindings, Verification } from "./verification.ts";

const today = utcDate(Date.now());
const [day1, day2] = [addDays(today, -1), addDays(today, -2)];
const shop = { account: "shop", sourceKey: "aa".repeat(16) };
const bank = { account: "bank", sourceKey: "bb".repeat(16) };
const stream = "tidemill-frames-0-aaaaaaaaaaaaaaaa";
const time = `${day1}T00:00:00.000Z`;

type Group = typeof shop & { date: string; quarantined?: true };

/** A bucket with a cut of ten sequences for each list of groups, and their objects of five rows each. */
class Bucket {
	readonly store = new MemoryStore("p");
	readonly tombstones = new Tombstones(this.store);
	readonly replaced = new CompactionStore(this.store);

	async cut(first: number, groups: Group[]): Promise<string[]> {
		const { keys } = this.store;
		const record: CutRecord = {
			version: 1,
			stream,
			first,
			last: first + 9,
			firstFrame: { id: "f", time },
			lastFrame: { id: "l", time },
			groups: groups.map((group) => ({
				...group,
				rows: 5,
				lastEventTime: time,
			})),
			processes: [],
		} as never;
		await this.store.put(keys.cut(stream, first), JSON.stringify(record));
		const objects = groups.map((group) => keys.events(group, stream, first));
		for (const key of objects) await this.store.put(key, "rows");
		return objects;
	}

	async findings(overdueAtMs?: number): Promise<FolderFindings[]> {
		const shards = [await countShard(0, this, undefined, overdueAtMs)];
		const verification = await Verification.open({ ...this, shards });
		return Array.fromAsync(verification.all());
	}

	/** Only what differs, in short. */
	async differences(overdueAtMs?: number): Promise<Record<string, string[]>> {
		const told: Record<string, string[]> = {};
		for (const found of await this.findings(overdueAtMs)) {
			const { account, date, folder } = found;
			const words = [
				...found.missing.map(({ name, rows }) => `missing ${name} ${rows}`),
				...found.accepted.map(({ name }) => `accepted ${name}`),
				...found.unrecorded.map((name) => `unrecorded ${name}`),
				...(found.problem ? [found.problem] : []),
			];
			if (words.length > 0) told[`${account} ${date} ${folder}`] = words;
		}
		return told;
	}
}

const nameOf = (first: number) =>
	`${stream}-${String(first).padStart(20, "0")}.parquet`;

async function filled() {
	const bucket = new Bucket();
	const apart = { ...shop, date: day1, quarantined: true } as const;
	await bucket.cut(1, [
		{ ...shop, date: day2 },
		{ ...bank, date: day2 },
	]);
	await bucket.cut(11, [{ ...shop, date: day1 }, apart]);
	await bucket.cut(21, [{ ...shop, date: day1 }]);
	return bucket;
}

test("a bucket that has everything differs in nothing", async () => {
	const bucket = await filled();
	const found = await bucket.findings();
	expect(await bucket.differences()).toEqual({});
	expect(
		found.map(({ account, date, folder, objects, rows }) =>
			[account, date, folder, objects, rows].join(" "),
		),
	).toEqual([
		`bank ${day2} events 1 5`,
		`shop ${day2} events 1 5`,
		`shop ${day1} events 2 10`,
		`shop ${day1} quarantine 1 5`,
	]);
});

test("each missing object is named with its rows, also where a folder has nothing left", async () => {
	const bucket = await filled();
	const { store } = bucket;
	const apart = { ...shop, date: day1, quarantined: true } as const;
	await store.remove([
		store.keys.events({ ...bank, date: day2 }, stream, 1),
		store.keys.events({ ...shop, date: day1 }, stream, 11),
		store.keys.events(apart, stream, 11),
	]);
	expect(await bucket.differences()).toEqual({
		[`bank ${day2} events`]: [`missing ${nameOf(1)} 5`],
		[`shop ${day1} events`]: [`missing ${nameOf(11)} 5`],
		[`shop ${day1} quarantine`]: [`missing ${nameOf(11)} 5`],
	});
});

test("a loss that is accepted is no longer missing, another one of the date is", async () => {
	const bucket = await filled();
	const { store } = bucket;
	const dated = { ...shop, date: day1 };
	const lose = (first: number) =>
		store.remove([store.keys.events(dated, stream, first)]);
	const accepted = new AcceptedLosses(store);
	const accept = (first: number) =>
		accepted.add({
			...{ version: 1, ...dated, time },
			objects: [{ folder: "events", name: nameOf(first), rows: 5 }],
		});
	await lose(11);
	await accept(11);
	const name = `shop ${day1} events`;
	expect(await bucket.differences()).toEqual({
		[name]: [`accepted ${nameOf(11)}`],
	});
	await bucket.cut(31, []);
	await lose(21);
	expect((await bucket.differences())[name]).toContain(
		`missing ${nameOf(21)} 5`,
	);
	await accept(21);
	// Repeated, it counts once.
	await accept(21);
	expect(await accepted.ofSource(shop)).toEqual({
		[day1]: { events: 10, objects: 2 },
	});
	await store.put(store.keys.events(dated, stream, 11), "rows");
	expect(await bucket.differences()).toEqual({
		[name]: [`accepted ${nameOf(21)}`],
	});
});

test("what is being written, is replaced, deleted or has expired isn't missing", async () => {
	const bucket = await filled();
	const { store, tombstones } = bucket;
	const dated = { ...shop, date: day1 };
	const output = {
		name: "compacted-0.parquet",
		rows: 10,
		bytes: 1,
		sha256: "",
	};
	await new CompactionStore(store).decide({
		...{ version: 1, ...dated },
		outputs: [{ ...output, inputs: [nameOf(11), nameOf(21)] }],
	});
	await store.put(store.keys.eventsOfDate(dated) + output.name, "rows");
	await store.remove(
		[11, 21].map((first) => store.keys.events(dated, stream, first)),
	);
	await bucket.cut(31, [
		{ ...shop, date: addDays(today, -31) },
		{ ...shop, date: today },
	]);
	await store.remove([
		store.keys.events({ ...shop, date: addDays(today, -31) }, stream, 31),
	]);
	await bucket.cut(41, [{ ...shop, date: today }]);
	// The newest cut's.
	await store.remove([store.keys.events({ ...shop, date: today }, stream, 41)]);
	await tombstones.add(bank);
	await store.remove([store.keys.events({ ...bank, date: day2 }, stream, 1)]);
	expect(await bucket.differences()).toEqual({});
	await store.remove([store.keys.eventsOfDate(dated) + output.name]);
	expect(await bucket.differences()).toEqual({
		[`shop ${day1} events`]: ["missing compacted-0.parquet 10"],
	});
});

test("objects without a cut record are told, and cut records that are gone between others", async () => {
	const bucket = await filled();
	const { store } = bucket;
	await store.remove([store.keys.cut(stream, 11)]);
	expect(await bucket.differences()).toEqual({
		[`shop ${day1} events`]: [`unrecorded ${nameOf(11)}`],
		[`shop ${day1} quarantine`]: [`unrecorded ${nameOf(11)}`],
	});
	const { gaps } = await countShard(0, bucket);
	expect(gaps).toEqual([{ stream, from: 11, to: 20 }]);
	for (const first of [1, 21])
		await store.remove([store.keys.cut(stream, first)]);
	expect(Object.keys(await bucket.differences())).toEqual([
		`bank ${day2} events`,
		`shop ${day2} events`,
		`shop ${day1} events`,
		`shop ${day1} quarantine`,
	]);
});

test("objects of the newest cut are on their way for two minutes, and missing then", async () => {
	const bucket = await filled();
	const { store } = bucket;
	store.nowMs = 1_000;
	await store.remove(await bucket.cut(31, [{ ...shop, date: day1 }]));
	expect(await bucket.differences()).toEqual({});
	expect(await bucket.differences(120_999)).toEqual({});
	expect(await bucket.differences(121_000)).toEqual({
		[`shop ${day1} events`]: [`missing ${nameOf(31)} 5`],
	});
});

test("what was imported or released is looked for, too", async () => {
	const bucket = await filled();
	const { store } = bucket;
	const dated = { ...shop, date: day2 };
	const key = store.keys.addedObject(dated, 1, "0123456789abcdef");
	await store.put(key, "rows");
	await new AdditionStore(store).decide(1, {
		...{ version: 1, ...dated, operation: "o", stream: "o", first: 1, last: 1 },
		...{ key, rows: 3, bytes: 4, imported: true },
	});
	expect(await bucket.differences()).toEqual({});
	await store.remove([key]);
	expect(await bucket.differences()).toEqual({
		[`shop ${day2} releases`]: [
			"missing 000000000001-0123456789abcdef.parquet 3",
		],
	});
});

test("dates that only a Source's longer retention keeps are looked at by their own ledgers", async () => {
	const bucket = await filled();
	const { store } = bucket;
	const old = { ...shop, date: addDays(today, -200) };
	await new RetentionStore(store).write(1, {
		...{ version: 1, ...shop, days: 400, from: addDays(today, -300) },
	});
	await bucket.cut(31, [old]);
	await bucket.cut(41, [{ ...shop, date: today }]);
	const { index } = await countShard(0, bucket);
	const nowMs = Date.now();
	const drainedAt = new Date(nowMs).toISOString();
	await new DateLedgers(store).keep(index, {
		...{ shard: 0, nowMs, drainedAt, staysLonger: () => true },
	});
	expect(await bucket.differences()).toEqual({});
	await store.remove([store.keys.events(old, stream, 31)]);
	expect(await bucket.differences()).toEqual({
		[`shop ${old.date} events`]: [`missing ${nameOf(31)} 5`],
	});
	await store.put(store.keys.events(old, stream, 31), "rows");
	await store.remove([store.keys.ledgerOfDate(old, 0)]);
	expect(
		(await bucket.differences())[`shop ${old.date} events`]?.[0],
	).toContain("the ledger of that date");
});

import pino from "pino";
import { expect, test, vi } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../decide/cut.ts";
import { CutStore } from "../write/cut-store.ts";
import { type IndexedSource, LedgerIndex, ledgerOf } from "./ledger-index.ts";
import { LedgerSnapshots } from "./ledger-snapshots.ts";

const sourceKey = "ffeeddccbbaa99887766554433221100";
const log = pino({ level: "silent" });
const folder = "p/ledgers/7/";

function cut(stream: string, first: number, sources = [sourceKey]): CutRecord {
	const time = new Date(Date.UTC(2026, 2, 1) + first * 60_000).toISOString();
	const mark = { id: "x", time };
	const date = time.slice(0, 10);
	const deviation = {
		type: `t${first % 3}`,
		kind: "UnplannedEvent" as const,
		annotated: 0,
		quarantined: first,
		lastEventTime: time,
	};
	const groups = sources.map((sourceKey) => ({
		account: "shop",
		sourceKey,
		date,
		rows: first,
		lastEventTime: time,
	}));
	return {
		version: 1,
		stream,
		first,
		last: first,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: groups.flatMap((group) => [
			group,
			{ ...group, quarantined: true as const },
		]),
		deviations: groups.map(({ account, sourceKey, date }) => ({
			account,
			sourceKey,
			date,
			entries: [deviation],
		})),
	};
}

/** A store with these cuts, and an index that has taken them. */
async function archived(...cuts: CutRecord[]) {
	const store = new MemoryStore("p");
	const index = new LedgerIndex();
	const cutStore = new CutStore(store);
	for (const each of cuts) {
		await cutStore.decide(each);
		index.add(each);
	}
	const snapshots = new LedgerSnapshots(store, log);
	return { store, index, cutStore, snapshots };
}

const [old, now] = ["tidemill-frames-7-bb", "tidemill-frames-7-aa"];
const minutes = (stream: string, from: number, to: number) =>
	Array.from({ length: to - from + 1 }, (_, n) => cut(stream, from + n));

/** All that an index knows now. */
function contentsOf(index: LedgerIndex) {
	const { newestOfStream, days, lostFrames, missing, told } = index;
	const objectsIn = (dates: IndexedSource["objects"]) =>
		new Map(
			[...dates].map(([date, objects]) => [
				date,
				{ count: objects.count, objects: [...objects] },
			]),
		);
	const sources = [...index.sources()].map((source) => ({
		...source,
		objects: objectsIn(source.objects),
		quarantined: objectsIn(source.quarantined),
	}));
	const streams = { newestOfStream, missing, told };
	return structuredClone({ ...streams, days, lostFrames, sources });
}

function keysIn(store: MemoryStore, part: string): string[] {
	return [...store.objects.keys()]
		.filter((key) => key.startsWith(folder) && key.includes(part))
		.sort();
}

test("a restart reads the snapshot, the newest cut of each of its streams, and the later cuts", async () => {
	const before = [...minutes(old, 1, 200), ...minutes(now, 1, 300)];
	const { store, index, cutStore, snapshots } = await archived(...before);
	await snapshots.write(7, index);
	for (const each of minutes(now, 301, 303)) await cutStore.decide(each);
	await cutStore.decide(cut("tidemill-frames-7-cc", 1));
	store.reads.length = 0;

	const restarted = (await snapshots.newest(7))!;
	const added = await Array.fromAsync(
		cutStore.ofShard(7, restarted.newestOfStream),
	);
	expect(added.map(({ stream, first }) => [stream, first])).toEqual([
		[now, 300],
		[now, 301],
		[now, 302],
		[now, 303],
		[old, 200],
		["tidemill-frames-7-cc", 1],
	]);
	// The snapshot, its part, and these cuts.
	expect(store.reads).toHaveLength(2 + added.length);
	for (const each of added) restarted.add(each);

	const all = new LedgerIndex();
	for await (const each of cutStore.ofShard(7)) all.add(each);
	const source = restarted.source("shop", sourceKey)!;
	expect(ledgerOf(source)).toEqual(ledgerOf(all.source("shop", sourceKey)!));
	expect(source.objects.get("2026-03-01")!.count).toBe(504);
	expect(source.quarantined.get("2026-03-01")!.count).toBe(504);
	expect(source.deviations.get("2026-03-01")!.entries).toHaveLength(3);
});

test("an unreadable snapshot is ignored", async () => {
	const { store, index, snapshots } = await archived(cut(now, 1));
	await snapshots.write(7, index);
	const [key] = keysIn(store, "snapshot");
	store.objects.set(key!, "{}");
	expect(await snapshots.newest(7)).toBeUndefined();
	store.objects.set(key!, "");
	expect(await snapshots.newest(7)).toBeUndefined();
});

test("if the newest snapshot is unreadable, the one before is read", async () => {
	const { store, index, snapshots } = await archived(cut(now, 1));
	await snapshots.write(7, index);
	index.add(cut(now, 2));
	await snapshots.write(7, index);
	const lastOf = async () =>
		(await snapshots.newest(7))!.newestOfStream.get(now)!.last;
	const newest = keysIn(store, "snapshot")[1]!;
	const part = keysIn(store, "/2-");
	store.objects.delete(part[0]!);
	expect(await lastOf()).toBe(1);
	store.objects.set(newest, `{"version":99}`);
	expect(await lastOf()).toBe(1);
	const get = vi.spyOn(store, "get");
	get.mockRejectedValueOnce(new Error("the object is too large"));
	expect(await snapshots.newest(7)).toBeDefined();
});

test("the newest two snapshots of a shard stay", async () => {
	const { store, index, snapshots } = await archived(cut(now, 1));
	await snapshots.write(8, index);
	for (let first = 2; first < 6; first++) {
		index.add(cut(now, first));
		await snapshots.write(7, index);
	}
	expect(keysIn(store, "snapshot")).toHaveLength(2);
	expect((await snapshots.newest(7))!.newestOfStream.get(now)!.last).toBe(5);
	await snapshots.clear(7);
	expect(await snapshots.newest(7)).toBeUndefined();
	expect(await snapshots.newest(8)).toBeDefined();
});

test("the newest snapshot is the one that was written last, also after one of an earlier version or of a clock that was ahead", async () => {
	const ahead = cut(now, 60 * 24 * 365);
	const { store, index, snapshots } = await archived({
		...cut(now, 1),
		lastFrame: ahead.lastFrame,
	});
	store.objects.set("p/ledgers/7/2099-01-01T00:00:00.000Z.json", "{}");
	await snapshots.write(7, index);
	for (let first = 2; first < 5; first++) {
		index.add(cut(now, first));
		await snapshots.write(7, index);
		const { newestOfStream } = (await snapshots.newest(7))!;
		expect(newestOfStream.get(now)!.last).toBe(first);
	}
	expect(
		keysIn(store, ".json").filter((key) => !key.includes("/parts/")),
	).toEqual(keysIn(store, "snapshot"));
	expect(keysIn(store, "snapshot")).toHaveLength(2);
});

test("a snapshot after a year is as large as one after two months", async () => {
	const sizes: number[] = [];
	const { store, index, snapshots } = await archived();
	const sizeOf = () => {
		const [root] = keysIn(store, "snapshot").slice(-1);
		const text = store.objects.get(root!)!;
		const { dates } = JSON.parse(text) as { dates: [string, string[]][] };
		return dates
			.flatMap(([, keys]) => keys)
			.reduce((sum, key) => sum + store.objects.get(key)!.length, text.length);
	};
	for (let minute = 60; minute <= 365 * 1_440; minute += 60) {
		store.nowMs = minute * 60_000;
		index.add(cut(now, minute));
		if (minute % 1_440 !== 0) continue;
		await snapshots.write(7, index);
		if ([60, 365].includes(minute / 1_440)) sizes.push(sizeOf());
	}
	// The sequences are longer by then.
	expect(sizes[1]).toBeLessThan(1.1 * sizes[0]!);
	const restored = (await snapshots.newest(7))!;
	expect(contentsOf(restored)).toEqual(contentsOf(index));
	expect(restored.source("shop", sourceKey)!.objects.size).toBe(32);
	// Those of two snapshots of 32 dates each, and those of the last hour.
	expect(keysIn(store, "/parts/").length).toBeLessThanOrEqual(36);
});

test("a date that is closed is written once, also across restarts, and the open one each time", async () => {
	const { store, index, snapshots } = await archived(
		...minutes(now, 1, 3 * 1_440 - 10),
	);
	await snapshots.write(7, index);
	const written = keysIn(store, "/parts/");
	expect(written).toHaveLength(3);
	index.add(cut(now, 3 * 1_440 - 9));
	await snapshots.write(7, index);
	const restarted = new LedgerSnapshots(store, log);
	const again = (await restarted.newest(7))!;
	again.add(cut(now, 3 * 1_440 - 8));
	await restarted.write(7, again);
	const added = keysIn(store, "/parts/").filter((k) => !written.includes(k));
	expect(added).toHaveLength(2);
	for (const key of added) expect(key).toContain("date=2026-03-03");
	expect(contentsOf((await restarted.newest(7))!)).toEqual(contentsOf(again));
});

test("no text of a snapshot grows with the shard's objects, so that it can be of any size", async () => {
	const sources = Array.from({ length: 40 }, (_, n) =>
		`${n}`.padStart(32, "0"),
	);
	const cuts = Array.from({ length: 200 }, (_, n) => cut(now, n + 1, sources));
	const { store, index } = await archived(...cuts);
	const snapshots = new LedgerSnapshots(store, log, 4_096);
	await snapshots.write(7, index);
	const parts = keysIn(store, "/parts/");
	expect(parts.length).toBeGreaterThan(10);
	// Base64 and names make a text longer than what it holds.
	for (const key of parts)
		expect(store.objects.get(key)!.length).toBeLessThan(3 * 4_096);
	const [root] = keysIn(store, "snapshot");
	expect(store.objects.get(root!)!.length).toBeLessThan(400 * sources.length);
	expect(contentsOf((await snapshots.newest(7))!)).toEqual(contentsOf(index));
});

test("what is archived while a snapshot is written isn't in it, and comes from the cut records", async () => {
	const { store, index, snapshots } = await archived(...minutes(now, 1, 100));
	const before = contentsOf(index);
	const later = [cut(now, 101), cut(old, 1), cut(now, 2_000)];
	const putNew = store.putNew.bind(store);
	store.putNew = async (...put) => {
		for (const each of later) index.add(each);
		index.remove({ account: "shop", sourceKey: "other" });
		return putNew(...put);
	};
	await snapshots.write(7, index);
	const restored = (await snapshots.newest(7))!;
	expect(contentsOf(restored)).toEqual(before);
	for (const each of later) restored.add(each);
	expect(contentsOf(restored)).toEqual(contentsOf(index));
});

test("parts that no snapshot names are removed after an hour, and not while another archiver may write", async () => {
	const { store, index, snapshots } = await archived(cut(now, 1));
	const left = store.keys.ledgerPart(7, "2026-03-01", "9-aa-0");
	await store.put(left, "{}");
	const writeAt = async (minute: number) => {
		store.nowMs = minute * 60_000;
		index.add(cut(now, minute));
		await snapshots.write(7, index);
	};
	for (const minute of [10, 50]) await writeAt(minute);
	expect(store.objects.has(left)).toBe(true);
	for (const minute of [70, 80]) await writeAt(minute);
	expect(store.objects.has(left)).toBe(false);
	expect(await snapshots.newest(7)).toBeDefined();
	store.objects.delete(keysIn(store, "snapshot").at(-1)!);
	expect(contentsOf((await snapshots.newest(7))!).newestOfStream).toEqual(
		new Map([[now, { first: 70, last: 70 }]]),
	);
});

test("parts that another archiver has removed are written again", async () => {
	const { store, index, snapshots } = await archived(
		...minutes(now, 1, 2 * 1_440),
	);
	await snapshots.write(7, index);
	for (const key of keysIn(store, "date=2026-03-01")) store.objects.delete(key);
	await snapshots.write(7, index);
	expect(contentsOf((await snapshots.newest(7))!)).toEqual(contentsOf(index));
});

test("in place of a snapshot of 0.1, of whose version this archive reads none, cut records are read", async () => {
	const { store, snapshots } = await archived(cut(now, 1));
	store.objects.set(
		"p/ledgers/7/2026-03-01T00:00:00.000Z.json",
		'{"version":3}',
	);
	expect(await snapshots.newest(7)).toBeUndefined();
});

test("a restart knows of which streams it is unknown what they held, and who has told", async () => {
	const { index, snapshots } = await archived(...minutes(old, 1, 3));
	const since = "2026-03-01T12:00:00.000Z";
	index.miss({ stream: "gone", since, processes: ["a", "b"] });
	index.add({
		...cut(now, 1),
		left: {
			told: [{ stream: "gone", process: "a", last: 0, since, frames: 0 }],
		},
	});
	await snapshots.write(7, index);
	const restored = (await snapshots.newest(7))!;
	expect(contentsOf(restored)).toEqual(contentsOf(index));
	expect(restored.unknownSince).toBe(since);
});

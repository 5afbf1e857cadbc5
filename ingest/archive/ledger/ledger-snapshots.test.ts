import pino from "pino";
import { expect, test, vi } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../decide/cut.ts";
import { CutStore } from "../write/cut-store.ts";
import { LedgerIndex, ledgerOf } from "./ledger-index.ts";
import { LedgerSnapshots } from "./ledger-snapshots.ts";

const sourceKey = "ffeeddccbbaa99887766554433221100";

function cut(stream: string, first: number): CutRecord {
	const time = new Date(Date.UTC(2026, 2, 1) + first * 60_000).toISOString();
	const mark = { id: "x", time };
	const ofDate = { account: "shop", sourceKey, date: time.slice(0, 10) };
	const group = { ...ofDate, rows: first, lastEventTime: time };
	const deviation = {
		type: `t${first % 3}`,
		kind: "UnplannedEvent" as const,
		annotated: 0,
		quarantined: first,
		lastEventTime: time,
	};
	return {
		version: 1,
		stream,
		first,
		last: first,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: [group, { ...group, quarantined: true }],
		deviations: [{ ...ofDate, entries: [deviation] }],
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
	const snapshots = new LedgerSnapshots(store, pino({ level: "silent" }));
	return { store, index, cutStore, snapshots };
}

const [old, now] = ["tidemill-frames-7-bb", "tidemill-frames-7-aa"];
const minutes = (stream: string, from: number, to: number) =>
	Array.from({ length: to - from + 1 }, (_, n) => cut(stream, from + n));

test("a restart reads the snapshot, the newest cut of each of its streams, and the later cuts", async () => {
	const before = [...minutes(old, 1, 200), ...minutes(now, 1, 300)];
	const { store, index, cutStore, snapshots } = await archived(...before);
	await snapshots.write(7, index);
	for (const each of minutes(now, 301, 303)) await cutStore.decide(each);
	await cutStore.decide(cut("tidemill-frames-7-cc", 1));
	store.reads.length = 0;

	const restarted = (await snapshots.newest(7))!;
	const added = await cutStore.ofShard(7, restarted.newestOfStream);
	expect(added.map(({ stream, first }) => [stream, first])).toEqual([
		[now, 300],
		[now, 301],
		[now, 302],
		[now, 303],
		[old, 200],
		["tidemill-frames-7-cc", 1],
	]);
	expect(store.reads).toHaveLength(1 + added.length);
	for (const each of added) restarted.add(each);

	const all = new LedgerIndex();
	for (const each of await cutStore.ofShard(7)) all.add(each);
	const source = restarted.source("shop", sourceKey)!;
	expect(ledgerOf(source)).toEqual(ledgerOf(all.source("shop", sourceKey)!));
	expect(source.objects.get("2026-03-01")!.count).toBe(504);
	expect(source.quarantined.get("2026-03-01")!.count).toBe(504);
	expect(source.deviations.get("2026-03-01")!.entries).toHaveLength(3);
});

test("an unreadable snapshot is ignored", async () => {
	const { store, index, snapshots } = await archived(cut(now, 1));
	await snapshots.write(7, index);
	const [key] = [...store.objects.keys()].filter((k) => k.includes("ledgers"));
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
	const newest = [...store.objects.keys()]
		.filter((key) => key.includes("snapshot"))
		.at(-1)!;
	store.objects.set(newest, `{"version":99}`);
	const { newestOfStream } = (await snapshots.newest(7))!;
	expect(newestOfStream.get(now)!.last).toBe(1);
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
	const written = [...store.objects.keys()].filter((k) =>
		k.includes("ledgers"),
	);
	expect(written).toHaveLength(3);
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
		[...store.objects.keys()].filter((k) => k.includes("ledgers")),
	).toHaveLength(2);
});

test("a snapshot after a year is as large as one after two months", async () => {
	const sizes: number[] = [];
	const { store, index, snapshots } = await archived();
	for (let minute = 60; minute <= 365 * 1_440; minute += 60) {
		index.add(cut(now, minute));
		if (minute !== 60 * 1_440 && minute !== 365 * 1_440) continue;
		await snapshots.write(7, index);
		const [key] = [...store.objects.keys()].slice(-1);
		sizes.push(store.objects.get(key!)!.length);
	}
	// The sequences are longer by then.
	expect(sizes[1]).toBeLessThan(1.1 * sizes[0]!);
	const source = (await snapshots.newest(7))!.source("shop", sourceKey)!;
	expect(source.objects.size).toBe(32);
});

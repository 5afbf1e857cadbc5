import pino from "pino";
import { expect, test } from "vitest";
import { AgedStore } from "../../../test/support/doubles/aged-store.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { Tombstones } from "../../archive/write/tombstones.ts";
import { Compactor, type CompactorOptions } from "./compactor.ts";

const nowMs = Date.parse("2026-03-20T12:00:00Z");
const group = { account: "shop", sourceKey: "5a".repeat(16) };

/** Shards with a compacted date whose readers are gone, and one that is due. */
function archiveOf(isArchiving: (shard: number) => boolean) {
	const store = new AgedStore(nowMs);
	const shards = [7, 8].map((number) => {
		const index = new LedgerIndex();
		const stream = `tidemill-frames-${number}-aa`;
		const source = { account: group.account, sourceKey: `${number}b` };
		const dates = ["2026-03-15", "2026-03-19", "2026-03-20"];
		for (const [day, date] of dates.entries())
			for (const part of [1, 2]) {
				const time = `${date}T11:00:00.000Z`;
				const first = 2 * day + part;
				const mark = { id: "x", time };
				const cut: CutRecord = {
					version: 1,
					stream,
					first,
					last: first,
					firstFrame: mark,
					lastFrame: mark,
					repeated: [],
					processes: {},
					groups: [{ ...source, date, rows: 1, lastEventTime: time }],
				};
				index.add(cut);
				store.add(store.keys.cut(stream, first), [5, 1, 0][day]!);
			}
		const compacted = { ...source, date: "2026-03-15" };
		store.add(
			store.keys.compaction(compacted),
			4,
			JSON.stringify({ version: 1, ...compacted, outputs: [] }),
		);
		return { number, index, lagSeconds: 0, isArchiving: isArchiving(number) };
	});
	const compacted: string[] = [];
	const told: boolean[] = [];
	const scene = { isRefused: false };
	class Watched extends Compactor {
		override async compact(
			shard: number,
			{ sourceKey, date }: Parameters<Compactor["compact"]>[1],
		) {
			if (scene.isRefused) throw new Error("AccessDenied");
			compacted.push(`${shard} ${sourceKey} ${date}`);
			const record = { version: 1 as const, ...group, sourceKey, date };
			const text = JSON.stringify({ ...record, outputs: [] });
			store.add(store.keys.compaction(record), 0, text);
			return { ...record, outputs: [] };
		}
	}
	const compactor = new Watched({
		store: store as unknown as CompactorOptions["store"],
		shards,
		minObjects: 2,
		intervalMs: 600_000,
		maxLagSeconds: 60,
		scratch: "",
		tombstones: new Tombstones(store),
		metrics: {
			counter: () => ({ inc() {} }) as never,
			tellWork: (_, isFailing) => void told.push(isFailing),
		},
		log: pino({ level: "silent" }),
	});
	const look = (afterMs = 0) =>
		compactor.look(nowMs + afterMs, new AbortController().signal);
	return { store, shards, compacted, told, scene, look };
}

test("an archive that stands by compacts and checks nothing, and asks the bucket nothing", async () => {
	const { store, compacted, look } = archiveOf(() => false);
	await look();
	expect([store.lists, store.reads, [...store.listed]]).toEqual([[], [], []]);
	expect(compacted).toEqual([]);
});

test("an archive compacts and checks the shards that it works on, whatever records others have", async () => {
	const { store, compacted, look } = archiveOf((shard) => shard === 7);
	for (let looks = 0; looks < 3; looks++) await look();
	expect(compacted).toEqual(["7 7b 2026-03-19"]);
	const prefix = store.keys.compactions();
	const asked = [...store.listed.keys(), ...store.reads].filter((key) =>
		key.startsWith(prefix),
	);
	expect(asked).not.toEqual([]);
	for (const key of asked) expect(key).toContain("source=7b/");
});

test("an archive that takes a shard over again learns what the other one has compacted meanwhile, and goes on with it", async () => {
	const { store, shards, compacted, look } = archiveOf(() => true);
	const group = { account: "shop", sourceKey: "8b", date: "2026-03-19" };
	await look();
	expect(compacted).toHaveLength(2);
	shards[1]!.isArchiving = false;
	await look();
	const late = { ...group, date: "2026-03-18" };
	const text = JSON.stringify({ version: 1, ...late, outputs: [] });
	store.add(store.keys.compaction(late), 2, text);
	store.reads.length = 0;
	await look();
	expect(store.reads).toEqual([]);
	shards[1]!.isArchiving = true;
	await look();
	expect(store.reads).toContain(store.keys.compaction(late));
	expect(compacted).toHaveLength(2);
});

test("a date that another archive compacted since the last look isn't compacted again", async () => {
	const { store, shards, compacted, look } = archiveOf((shard) => shard === 8);
	const due = { account: "shop", sourceKey: "8b", date: "2026-03-19" };
	const { index } = shards[1]!;
	// Between the listing and the work.
	const list = store.list.bind(store);
	store.list = async function* (prefix, after) {
		yield* list(prefix, after);
		if (prefix === store.keys.compactionsOfSource(due))
			store.add(store.keys.compaction(due), 0, JSON.stringify({ version: 1 }));
	};
	await look();
	expect(index.source("shop", "8b")!.objects.has("2026-03-19")).toBe(true);
	expect(compacted).toEqual([]);
});

test("a date that can't be compacted is a failure until it is compacted, or nobody's here any more", async () => {
	const { shards, told, scene, look } = archiveOf((shard) => shard === 7);
	scene.isRefused = true;
	await look();
	// It waits for its next try, and still isn't compacted.
	await look(60_000);
	expect(told).toEqual([true, true]);
	scene.isRefused = false;
	await look(1_200_000);
	expect(told).toEqual([true, true, false]);
	shards[1]!.isArchiving = true;
	scene.isRefused = true;
	await look(1_200_000);
	shards[1]!.isArchiving = false;
	await look(1_200_000);
	expect(told.slice(3)).toEqual([true, false]);
});

import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../decide/cut.ts";
import { CutStore } from "./cut-store.ts";

const mark = { id: "x", time: "2026-03-01T12:00:00.000Z" };
const cut = (stream = "tidemill-frames-7-aa", first = 1): CutRecord => ({
	version: 1,
	stream,
	first,
	last: first + 8,
	firstFrame: mark,
	lastFrame: mark,
	repeated: [],
	processes: {},
	groups: [],
});

test("of two archivers that make the same cut one has decided it, also when its request is repeated", async () => {
	const store = new MemoryStore();
	const [own, rival] = [new CutStore(store), new CutStore(store)];
	const [mine, theirs] = [cut(), cut()];
	expect(await own.decide(mine)).toBe(mine);
	expect(await own.decide(mine)).toBe(mine);
	const decided = await rival.decide(theirs);
	expect(decided).not.toBe(theirs);
	expect(decided).toMatchObject(theirs);
});

test("a shard's cuts come in order, those of a known stream from its newest on, and memory holds a few of them however many there are", async () => {
	const store = new MemoryStore();
	const cuts = new CutStore(store);
	const streams = ["aa", "bb", "cc"].map((name) => `tidemill-frames-7-${name}`);
	const perStream = 700;
	for (const stream of streams)
		for (let number = 0; number < perStream; number++)
			await cuts.decide(cut(stream, 9 * number + 1));
	const { list } = store;
	let listed = 0;
	store.list = async function* (...args) {
		for await (const object of list.apply(store, args)) {
			listed++;
			yield object;
		}
	};
	const known = new Map([[streams[1]!, { first: 9 * (perStream - 3) + 1 }]]);
	const found: [string, number][] = [];
	store.reads.length = 0;
	for await (const { stream, first } of cuts.ofShard(7, known)) {
		found.push([stream, first]);
		expect(store.reads.length - found.length).toBeLessThan(32);
		// One of the known stream shows where it begins.
		expect(listed - found.length).toBeLessThan(34);
	}
	const expected = streams.flatMap((stream) =>
		Array.from({ length: perStream }, (_, number): [string, number] => [
			stream,
			9 * number + 1,
		]).filter(([of, first]) => first >= (known.get(of)?.first ?? 0)),
	);
	expect(found).toEqual(expected);
	const [head] = await Array.fromAsync(cuts.ofStream(streams[2]!));
	const later = await Array.fromAsync(cuts.ofStream(streams[2]!, head));
	expect(later).toHaveLength(perStream - 1);
});

test("the shards are those that have cuts, each once, however many streams and cuts it has", async () => {
	const store = new MemoryStore();
	const cuts = new CutStore(store);
	expect(await cuts.shards()).toEqual([]);
	for (const stream of ["10-00", "2-ab", "2-ff", "0-9c", "1-00"])
		for (const first of [1, 10])
			await cuts.decide(cut(`tidemill-frames-${stream}`, first));
	await store.putNew(`${store.keys.allCuts()}else`, "");
	store.lists.length = 0;
	expect(await cuts.shards()).toEqual([0, 1, 2, 10]);
	expect(store.lists.length).toBeLessThanOrEqual(6);
});

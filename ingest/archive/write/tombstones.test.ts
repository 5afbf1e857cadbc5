import { expect, test } from "vitest";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { Tombstones } from "./tombstones.ts";

const source = (number: number) => ({
	account: "shop",
	sourceKey: number.toString(16).padStart(32, "0"),
});

/** A bucket in which so many sources were deleted by an earlier build, which has no log. */
async function bucket(deleted: number) {
	const store = new MemoryStore("a/b");
	for (let number = 0; number < deleted; number++)
		await store.put(store.keys.tombstone(source(number)), "");
	return store;
}

/** How many keys the work lists. */
async function listedBy(store: MemoryStore, work: () => Promise<void>) {
	const { list } = store;
	let count = 0;
	store.list = async function* (...args) {
		for await (const object of list.apply(store, args)) {
			count++;
			yield object;
		}
	};
	await work();
	store.list = list;
	return count;
}

test("a process lists all tombstones once, and then only what is new, however many there are", async () => {
	const store = await bucket(3_000);
	const [own, other] = [new Tombstones(store), new Tombstones(store)];
	expect(await listedBy(store, () => own.refresh())).toBe(3_000);
	expect(await listedBy(store, () => own.refresh())).toBe(0);
	await other.add(source(5_000));
	expect(own.has(source(5_000))).toBe(false);
	expect(await listedBy(store, () => own.refresh())).toBe(1);
	expect(own.has(source(5_000))).toBe(true);
	expect(await listedBy(store, () => own.refresh())).toBe(1);
	for (let number = 6_000; number < 6_010; number++)
		await (number % 2 ? own : other).add(source(number));
	expect(await listedBy(store, () => own.refresh())).toBe(11);
	expect(own.count).toBe(3_011);
	expect(await listedBy(store, () => own.refresh())).toBe(1);
});

test("sources that are deleted at once all get a number, and a repeated deletion is one more entry", async () => {
	const store = await bucket(0);
	const archives = Array.from({ length: 4 }, () => new Tombstones(store));
	await archives[0]!.refresh();
	await Promise.all(archives.map((archive, at) => archive.add(source(at))));
	await archives[3]!.add(source(0));
	const recent = await Array.fromAsync(archives[1]!.recent());
	expect(recent.map(({ sourceKey }) => sourceKey).sort()).toEqual(
		[0, 0, 1, 2, 3].map((number) => source(number).sourceKey),
	);
	await archives[0]!.refresh();
	expect(archives[0]!.count).toBe(4);
});

test("a process that slept until entries were gone lists all tombstones again", async () => {
	const store = await bucket(2);
	const [asleep, other] = [new Tombstones(store), new Tombstones(store)];
	await other.add(source(10));
	await asleep.refresh();
	for (const number of [11, 12, 13]) await other.add(source(number));
	// Old ones go, and the newest stays.
	const entries = [...store.objects.keys()].filter((key) =>
		key.startsWith(store.keys.deletions()),
	);
	await store.remove(entries.slice(0, 3));
	await asleep.refresh();
	expect(asleep.count).toBe(6);
});

test("a deletion whose archive died before its entry is known after it was repeated, and to who starts meanwhile", async () => {
	const store = await bucket(0);
	const [early, dying] = [new Tombstones(store), new Tombstones(store)];
	await early.refresh();
	const { putNew } = store;
	store.putNew = async (key, body) => {
		if (key.startsWith(store.keys.deletions())) throw new Error("dead");
		return putNew.call(store, key, body);
	};
	await expect(dying.add(source(1))).rejects.toThrow("dead");
	store.putNew = putNew;
	const late = new Tombstones(store);
	await late.refresh();
	expect(late.has(source(1))).toBe(true);
	await new Tombstones(store).add(source(1));
	await early.refresh();
	expect(early.has(source(1))).toBe(true);
});

import pino from "pino";
import { expect, test } from "vitest";
import { sourcePath } from "../../../packages/bucket/object-keys.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { NatsProgress } from "../../archive/write/nats-progress.ts";
import { Tombstones } from "../../archive/write/tombstones.ts";
import { deleteSourceObjects, sweepDeleted } from "./deletion.ts";

const source = (number: number) => ({
	account: "shop",
	sourceKey: number.toString(16).padStart(32, "0"),
});

test("a sweep looks after the sources of the last weeks, and tells NATS a part of the others, so that all have their turn", async () => {
	const store = new MemoryStore();
	const tombstones = new Tombstones(store);
	store.nowMs = Date.now() - 60 * dayMs;
	for (let number = 0; number < 50; number++)
		await tombstones.add(source(number));
	store.nowMs = Date.now() - dayMs;
	await tombstones.add(source(100));
	// An earlier build, and an archive that died, leave no entry.
	await store.put(store.keys.tombstone(source(60)), "");
	const told: string[] = [];
	const progress = async () =>
		({
			setDeleted: async ({ sourceKey }: { sourceKey: string }) =>
				void told.push(sourceKey),
		}) as unknown as NatsProgress;
	const log = pino({ level: "silent" });
	const { signal } = new AbortController();
	const sweep = async () => {
		told.length = 0;
		const context = { store, tombstones, progress, log };
		const swept = await sweepDeleted(context, signal, 20);
		return { told: told.length, swept };
	};
	const late = store.keys.events(
		{ ...source(100), date: "2026-03-01" },
		"tidemill-frames-0-aa",
		1,
	);
	await store.put(late, "x");
	expect(await sweep()).toEqual({ told: 21, swept: 1 });
	expect(store.objects.has(late)).toBe(false);
	expect(await sweep()).toEqual({ told: 21, swept: 0 });
	expect(await sweep()).toEqual({ told: 12, swept: 0 });
	expect(await sweep()).toEqual({ told: 22, swept: 0 });
});

test("all of a source goes, and nothing of another: lists first, and records after the objects that they name", async () => {
	const store = new MemoryStore("p");
	const sources = ["aa", "bb"].map((key) => ({
		account: "shop",
		sourceKey: key.repeat(16),
	}));
	const folders = store.keys.sourceFolders();
	for (const source of sources)
		for (const { prefix } of folders)
			await store.put(`${prefix}${sourcePath(source)}date=2026-03-01/x`, "");
	const removed: string[] = [];
	const remove = store.remove.bind(store);
	store.remove = async (keys) => {
		for (const key of keys) removed.push(key.split("/")[1]!);
		await remove(keys);
	};
	await deleteSourceObjects({ store }, sources[0]!, () => true);
	expect(removed.shift()).toBe("lists");
	expect(removed.splice(0, 6).sort()).toEqual(
		["dates", "early", "events", "imports", "quarantine", "releases"].sort(),
	);
	expect(removed.sort()).toEqual([
		"accepted-losses",
		"compactions",
		"erasures",
		"quarantine-compactions",
		"retention",
	]);
	const left = [...store.objects.keys()];
	expect(left).toHaveLength(folders.length);
	expect(left.every((key) => key.includes(sources[1]!.sourceKey))).toBe(true);
});

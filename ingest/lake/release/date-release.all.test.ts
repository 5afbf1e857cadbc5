// In make test: ingest/lake/addition/addition-turns.test.ts
import { randomBytes } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type { QuarantineFilter } from "../../../packages/contracts/archive.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import {
	type ObjectEvent,
	parquetObject,
} from "../../../test/support/examples/parquet-object.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { outputName } from "../../wire/object-name.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import { CompactionStore } from "../compaction/record.ts";
import { OutOfMemory, ParquetRewriter } from "../objects/parquet-rewriter.ts";
import { DateRelease, type DateReleaseOptions } from "./date-release.ts";

const date = "2026-03-01";
const folder = { account: "shop", sourceKey: "aa".repeat(16), date };
const keys = objectKeys("");

/** Text is too little for Parquet. */
class FileMemoryStore extends MemoryStore {
	/** Comes when a file was read, and before one is stored. */
	look = async () => {};

	override async putNewFile(key: string, file: string) {
		await this.look();
		const content = (await readFile(file)).toString("base64");
		return this.putNew(key, content);
	}

	override async getFile(key: string, file: string) {
		this.reads.push(key);
		const content = this.objects.get(key);
		if (content === undefined) return undefined;
		await writeFile(file, Buffer.from(content, "base64"));
		await this.look();
		return key;
	}
}

const event = (id: number, type: string, ...kinds: string[]): ObjectEvent => ({
	event_id: `id-${id}`,
	timestampMs: Date.parse(`${date}T00:00:00Z`) + id,
	body: String(id),
	violations: JSON.stringify({
		type,
		violations: kinds.map((kind) => ({ kind })),
	}),
});

const twoObjects = [
	[event(1, "paid", "TypeMismatch"), event(2, "paid", "OutOfRange")],
	[event(3, "it's", "TypeMismatch", "OutOfRange"), event(4, "gone")],
];

/** How many objects make a part. */
const partOf =
	(most: number): NonNullable<DateReleaseOptions["fits"]> =>
	({ objects }) =>
		objects <= most;

/** Of the objects in quarantine. */
const keysIn = (store: FileMemoryStore) =>
	[...store.objects.keys()].filter((key) => /(^|\/)quarantine\//.test(key));

type ReleaseChanges = Partial<DateReleaseOptions>;

/** Objects in quarantine. */
async function quarantine(objects: ObjectEvent[][] = twoObjects) {
	const store = new FileMemoryStore();
	const named: { stream: string; first: number; rows: number }[] = [];
	const add = async (events: ObjectEvent[], stream = "s") => {
		const first = named.length + 1;
		const key = keys.events({ ...folder, quarantined: true }, stream, first);
		const content = await parquetObject(date, events);
		await store.putNew(key, content.toString("base64"));
		named.push({ stream, first, rows: events.length });
		return content.length;
	};
	for (const events of objects) await add(events);
	const scratch = await passingDirectory("release");
	const { signal } = new AbortController();
	const idle = async () => {};
	const replaced = new CompactionStore(store);
	const begin = (
		operation: string,
		filter: QuarantineFilter = {},
		changes: ReleaseChanges = {},
	) =>
		new DateRelease(
			{ store, replaced, scratch, signal, idle, ...changes },
			{ folder, operation, filter, objects: named },
		);
	const release = async (...what: Parameters<typeof begin>) => {
		const parts = begin(...what);
		for (;;) if (!(await parts.next())) return parts.events;
	};
	/** Merges the first objects into one, as a compaction does. A day later those are gone. */
	const compact = async (count: number) => {
		const apart = { ...folder, quarantined: true } as const;
		const start = keys.eventsOfDate(apart).length;
		const originals = named
			.slice(0, count)
			.map(({ stream, first }) => keys.events(apart, stream, first));
		const rewriter = await ParquetRewriter.open(scratch, signal);
		const files = originals.map(() => rewriter.newFile());
		for (const [at, key] of originals.entries())
			await store.getFile(key, files[at]!);
		const inputs = originals.map((key) => key.slice(start));
		const name = outputName(inputs);
		const merged = await rewriter.merge(files, 2048);
		await store.putNewFile(keys.eventsOfDate(apart) + name, merged);
		await rewriter.close();
		const rows = named.slice(0, count).reduce((sum, one) => sum + one.rows, 0);
		await new CompactionStore(store).decide({
			version: 1,
			...apart,
			outputs: [{ name, rows, bytes: 1, sha256: "", inputs }],
		});
		await store.remove(originals);
	};
	const records = () => new AdditionStore(store).ofDate(folder);
	const rows = async () => (await records()).map(({ rows }) => rows);
	/** What a Run would load. */
	const loaded = async () => {
		const rewriter = await ParquetRewriter.open(scratch, signal);
		try {
			const files: string[] = [];
			for (const { key } of await records()) {
				files.push(rewriter.newFile());
				expect(await store.getFile(key, files.at(-1)!)).toBe(key);
			}
			const [found] = await rewriter.contents([
				await rewriter.merge(files, 2048),
			]);
			return { rows: found!.rows, ids: found!.ids };
		} finally {
			await rewriter.close();
		}
	};
	return {
		store,
		scratch,
		add,
		begin,
		release,
		compact,
		records,
		rows,
		loaded,
	};
}

test.each<[QuarantineFilter, number]>([
	[{}, 4],
	[{ types: ["paid"] }, 2],
	[{ types: ["it's", "gone"] }, 2],
	[{ kinds: ["TypeMismatch"] }, 2],
	[{ kinds: ["TypeMismatch", "OutOfRange"] }, 3],
	[{ types: ["paid"], kinds: ["TypeMismatch"] }, 1],
	[{ eventIDs: ["id-4", "id-9"] }, 1],
	[{ types: ["') OR true --"] }, 0],
])("a filter %j takes %i events", async (filter, count) => {
	const { release, rows } = await quarantine();
	expect(await release("one", filter)).toBe(count);
	expect(await rows()).toEqual(count === 0 ? [] : [count]);
});

test("a second release takes only what is left, and a repeated one says what it took", async () => {
	const { release, rows } = await quarantine();
	expect(await release("one", { types: ["paid"] })).toBe(2);
	expect(await release("two")).toBe(2);
	expect(await release("three")).toBe(0);
	expect(await release("one")).toBe(2);
	expect(await rows()).toEqual([2, 2]);
});

test("whoever comes second to a number starts again without what the first one took", async () => {
	const { store, release, rows } = await quarantine();
	let others = 0;
	const idle = async () => {
		// Another one is faster, each time.
		if (others++ < 2)
			await release(`fast-${others}`, { eventIDs: [`id-${others}`] });
	};
	const first = await release("slow", {}, { idle });
	expect(first).toBe(2);
	expect(await rows()).toEqual([1, 1, 2]);
	// Nothing is left of the attempts that lost.
	const made = [...store.objects.keys()].filter(
		(key) => /(^|\/)releases\//.test(key) && key.endsWith(".parquet"),
	);
	expect(made).toHaveLength(3);
});

type Death = [
	when: "before" | "after",
	step: "getFile" | "putNewFile" | "putNew",
	number?: number,
];

/** A store that does nothing more from this step on: before or after such a call of one of its functions. */
function mortal(
	store: FileMemoryStore,
	[when, step, number = 1]: Death,
): FileMemoryStore {
	let isDead = false;
	let calls = 0;
	return new Proxy(store, {
		get(target, property) {
			const value = Reflect.get(target, property, target);
			if (typeof value !== "function") return value;
			return (...args: unknown[]) => {
				if (isDead) throw new Error("dead");
				if (property !== step || ++calls < number)
					return value.apply(target, args);
				isDead = true;
				if (when === "before") throw new Error("dead");
				return value.apply(target, args).then(() => {
					throw new Error("dead");
				});
			};
		},
	});
}

test.each<Death>([
	["before", "getFile"],
	["after", "getFile"],
	["before", "putNewFile"],
	["after", "putNewFile"],
	["before", "putNew"],
	["after", "putNew"],
])(
	"a release that dies %s %s and is repeated releases each event once",
	async (...death) => {
		const { store, release, rows, loaded } = await quarantine();
		const dying = release("one", {}, { store: mortal(store, death) });
		await expect(dying).rejects.toThrow("dead");
		expect(await release("one")).toBe(4);
		expect(await release("two")).toBe(0);
		expect(await rows()).toEqual([4]);
		expect(await loaded()).toEqual({ rows: 4, ids: 4 });
	},
);

// The first part takes one of the two objects that are read for it.
test.each<Death>([
	["before", "getFile", 3],
	["after", "getFile", 3],
	["before", "putNewFile", 2],
	["after", "putNewFile", 2],
	["before", "putNew", 2],
	["after", "putNew", 2],
])(
	"a release that dies in its second part, %s %s number %i, goes on there, also if parts are larger now",
	async (...death) => {
		const { store, release, rows, loaded } = await quarantine();
		const changes = { fits: partOf(1), store: mortal(store, death) };
		await expect(release("one", {}, changes)).rejects.toThrow("dead");
		store.reads.length = 0;
		expect(await release("one")).toBe(4);
		const [first] = keysIn(store);
		expect(store.reads).not.toContain(first);
		expect(await release("one")).toBe(4);
		expect(await release("two")).toBe(0);
		expect(await rows()).toEqual([2, 2]);
		expect(await loaded()).toEqual({ rows: 4, ids: 4 });
	},
);

test("two releases at once whose parts are cut differently make each event one row", async () => {
	const { add, begin, records, loaded } = await quarantine();
	const filter = { eventIDs: ["id-1", "id-3", "id-5"] };
	const wide = begin("wide", filter, { fits: partOf(2) });
	await add([event(5, "late"), event(6, "late")]);
	const narrow = begin("narrow", {}, { fits: partOf(1) });
	expect(await narrow.next()).toBe(true);
	// What has arrived since is another release's.
	expect(await wide.next()).toBe(false);
	expect(await narrow.next()).toBe(true);
	expect(await narrow.next()).toBe(false);
	expect([wide.events, narrow.events]).toEqual([1, 5]);
	const ranges = (await records()).map(({ operation, first, last, rows }) => [
		operation,
		[first, last],
		rows,
	]);
	expect(ranges).toEqual([
		["narrow", [1, 1], 2],
		["wide", [1, 2], 1],
		["narrow", [2, 2], 1],
		["narrow", [3, 3], 2],
	]);
	expect(await loaded()).toEqual({ rows: 6, ids: 6 });
});

test("an Operation that two archives work on at once releases each event once", async () => {
	const { add, release, loaded } = await quarantine();
	await add([event(5, "late")]);
	let isFirst = true;
	const idle = async () => {
		if (!isFirst) return;
		isFirst = false;
		expect(await release("one", {}, { fits: partOf(1) })).toBe(5);
	};
	expect(await release("one", {}, { fits: partOf(2), idle })).toBe(5);
	expect(await loaded()).toEqual({ rows: 5, ids: 5 });
});

test("objects of two streams are parts of their own", async () => {
	const { add, release, rows, loaded } = await quarantine();
	await add([event(5, "later")], "t");
	const none = { eventIDs: ["id-4"] };
	expect(await release("one", none)).toBe(1);
	expect(await release("two")).toBe(4);
	expect(await rows()).toEqual([1, 3, 1]);
	expect(await loaded()).toEqual({ rows: 5, ids: 5 });
});

test("what was compacted before a release, or between two of its parts, is released once", async () => {
	const more = [[event(5, "paid")], [event(6, "paid")]];
	const { begin, release, compact, records, loaded } = await quarantine([
		...twoObjects,
		...more,
	]);
	expect(await release("earlier", { eventIDs: ["id-3"] })).toBe(1);
	const parts = begin("one", {}, { fits: partOf(1) });
	expect(await parts.next()).toBe(true);
	expect(parts.events).toBe(2);
	await compact(3);
	expect(await parts.next()).toBe(true);
	expect(await parts.next()).toBe(false);
	expect(parts.events).toBe(5);
	const ranges = (await records()).map(({ first, last, rows }) => [
		[first, last],
		rows,
	]);
	expect(ranges).toEqual([
		[[1, 4], 1],
		[[1, 1], 2],
		[[1, 3], 2],
		[[4, 4], 1],
	]);
	expect(await release("one")).toBe(5);
	expect(await release("two")).toBe(0);
	expect(await loaded()).toEqual({ rows: 6, ids: 6 });
});

test("a part that needs too much memory is halved", async () => {
	const { release, rows, loaded } = await quarantine();
	const { write } = ParquetRewriter.prototype;
	const spy = vi.spyOn(ParquetRewriter.prototype, "write");
	onTestFinished(() => spy.mockRestore());
	spy.mockImplementation(function (this: ParquetRewriter, query, ...rest) {
		if (/read_parquet\(\[[^\]]*,.* WHERE/.test(query))
			throw new OutOfMemory("too much");
		return write.call(this, query, ...rest);
	});
	expect(await release("one")).toBe(4);
	expect(await rows()).toEqual([2, 2]);
	expect(await loaded()).toEqual({ rows: 4, ids: 4 });
});

const large = (id: number): ObjectEvent => ({
	...event(id, "large"),
	body: randomBytes(100_000).toString("base64"),
});

/** The most bytes that the folder has held, and those that it holds. */
async function watchScratch(store: FileMemoryStore, scratch: string) {
	const used = async () => {
		let bytes = 0;
		for (const name of await readdir(scratch, { recursive: true })) {
			const found = await stat(join(scratch, name));
			if (found.isFile()) bytes += found.size;
		}
		return bytes;
	};
	let most = 0;
	store.look = async () => {
		most = Math.max(most, await used());
	};
	return { used, most: () => most };
}

test("the disk holds a part and what others took of it, however much is in quarantine and was released before", async () => {
	const { add, store, scratch, release, loaded } = await quarantine([]);
	let size = 0;
	for (let id = 1; id <= 24; id += 2)
		size = await add([large(id), large(id + 1)]);
	const { used, most } = await watchScratch(store, scratch);
	const even = Array.from({ length: 12 }, (_, at) => `id-${2 * (at + 1)}`);
	const changes = { fits: partOf(2) };
	expect(await release("one", { eventIDs: even }, changes)).toBe(12);
	expect(await release("two", {}, changes)).toBe(12);
	// Two objects, two that were read with them, and what the first release took of them, or after it the result.
	expect(most() / size).toBeGreaterThan(4.5);
	expect(most() / size).toBeLessThan(5.5);
	expect(await used()).toBe(0);
	store.look = async () => {};
	expect(await loaded()).toEqual({ rows: 24, ids: 24 });
});

test("a release that comes second again and again leaves nothing of its attempts on the disk", async () => {
	const small = Array.from({ length: 8 }, (_, id) => event(id + 2, "small"));
	const { add, store, scratch, release } = await quarantine([]);
	const size = await add([large(1), ...small]);
	const { most } = await watchScratch(store, scratch);
	let others = 1;
	const idle = async () => {
		if (others++ < 9)
			await release(`fast-${others}`, { eventIDs: [`id-${others}`] });
	};
	expect(await release("slow", {}, { idle })).toBe(1);
	// Two releases at once: each has the object, and the result.
	expect(most() / size).toBeLessThan(4.5);
});

test("a release whose record was written without an answer keeps its object", async () => {
	const { store, release, rows } = await quarantine();
	const put = store.putNew.bind(store);
	store.putNew = async (key, body) => {
		const written = await put(key, body);
		// The second attempt finds what the first one wrote.
		return key === keys.addedRecord(folder, 1) ? "exists" : written;
	};
	expect(await release("one")).toBe(4);
	expect(await rows()).toEqual([4]);
	const [{ key } = { key: "" }] = await new AdditionStore(store).ofDate(folder);
	expect(store.objects.has(key)).toBe(true);
});

test("a source that is deleted meanwhile gets no released rows, and a date takes a thousand parts", async () => {
	const { release, rows, store } = await quarantine();
	const deleted = async () => {
		throw new Error("deleted");
	};
	await expect(release("one", {}, { idle: deleted })).rejects.toThrow(
		"deleted",
	);
	expect(await rows()).toEqual([]);
	for (let number = 1; number <= 1_000; number++)
		await store.putNew(
			keys.addedRecord(folder, number),
			JSON.stringify({ version: 1, operation: `${number}`, key: "k", rows: 1 }),
		);
	await expect(release("one")).rejects.toMatchObject({
		code: "ReleasesTooMany",
	});
});

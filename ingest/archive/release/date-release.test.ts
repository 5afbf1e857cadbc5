import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { ReleaseFilter } from "../../../contracts/release.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import {
	type ObjectEvent,
	parquetObject,
} from "../../../test/support/examples/parquet-object.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { ObjectKeys } from "../s3/object-keys.ts";
import { DateRelease } from "./date-release.ts";
import { ReleaseStore } from "./release-store.ts";

const date = "2026-03-01";
const folder = { account: "shop", sourceKey: "aa".repeat(16), date };
const keys = new ObjectKeys("p");

/** Text is too little for Parquet. */
class FileMemoryStore extends MemoryStore {
	async putNewFile(key: string, file: string) {
		const content = (await readFile(file)).toString("base64");
		return this.putNew(key, content);
	}

	async getFile(key: string, file: string) {
		const content = this.objects.get(key);
		if (content === undefined) return undefined;
		await writeFile(file, Buffer.from(content, "base64"));
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

/** Two objects in quarantine with four events. */
async function quarantine() {
	const store = new FileMemoryStore();
	const objects = [
		[event(1, "paid", "TypeMismatch"), event(2, "paid", "OutOfRange")],
		[event(3, "it's", "TypeMismatch", "OutOfRange"), event(4, "gone")],
	];
	const named = objects.map((events, index) => ({
		stream: "s",
		first: index + 1,
		rows: events.length,
	}));
	for (const [index, events] of objects.entries()) {
		const { stream, first } = named[index]!;
		const key = keys.events({ ...folder, quarantined: true }, stream, first);
		const content = await parquetObject(date, events);
		await store.putNew(key, content.toString("base64"));
	}
	const scratch = await passingDirectory("release");
	const { signal } = new AbortController();
	const release = (
		operation: string,
		filter: ReleaseFilter = {},
		idle = async () => {},
		through: FileMemoryStore = store,
	) =>
		new DateRelease({ store: through, keys, scratch, signal, idle }).run(
			folder,
			operation,
			filter,
			named,
		);
	const rows = async () => {
		const records = await new ReleaseStore(store, keys).ofDate(folder);
		return records.map(({ rows }) => rows);
	};
	return { store, release, rows };
}

test.each<[ReleaseFilter, number]>([
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
	const first = await release("slow", {}, async () => {
		// Another one is faster, each time.
		if (others++ < 2)
			await release(`fast-${others}`, { eventIDs: [`id-${others}`] });
	});
	expect(first).toBe(2);
	expect(await rows()).toEqual([1, 1, 2]);
	// Nothing is left of the attempts that lost.
	const made = [...store.objects.keys()].filter(
		(key) => key.includes("/releases/") && key.endsWith(".parquet"),
	);
	expect(made).toHaveLength(3);
});

/** A store that does nothing more from this step on: before or after the first call of one of its functions. */
function mortal(
	store: FileMemoryStore,
	[when, step]: ["before" | "after", "getFile" | "putNewFile" | "putNew"],
): FileMemoryStore {
	let isDead = false;
	return new Proxy(store, {
		get(target, property) {
			const value = Reflect.get(target, property, target);
			if (typeof value !== "function") return value;
			return (...args: unknown[]) => {
				if (isDead) throw new Error("dead");
				if (property !== step) return value.apply(target, args);
				isDead = true;
				if (when === "before") throw new Error("dead");
				return value.apply(target, args).then(() => {
					throw new Error("dead");
				});
			};
		},
	});
}

test.each([
	["before", "getFile"],
	["after", "getFile"],
	["before", "putNewFile"],
	["after", "putNewFile"],
	["before", "putNew"],
	["after", "putNew"],
] as const)(
	"a release that dies %s %s and is repeated releases each event once",
	async (...death) => {
		const { store, release, rows } = await quarantine();
		const dying = release("one", {}, undefined, mortal(store, [...death]));
		await expect(dying).rejects.toThrow("dead");
		expect(await release("one")).toBe(4);
		expect(await release("two")).toBe(0);
		expect(await rows()).toEqual([4]);
		const records = await new ReleaseStore(store, keys).ofDate(folder);
		for (const { key } of records) expect(store.objects.has(key)).toBe(true);
	},
);

test("a release whose record was written without an answer keeps its object", async () => {
	const { store, release, rows } = await quarantine();
	const put = store.putNew.bind(store);
	store.putNew = async (key, body) => {
		const written = await put(key, body);
		// The second attempt finds what the first one wrote.
		return key.endsWith(".json") ? "exists" : written;
	};
	expect(await release("one")).toBe(4);
	expect(await rows()).toEqual([4]);
	const [{ key } = { key: "" }] = await new ReleaseStore(store, keys).ofDate(
		folder,
	);
	expect(store.objects.has(key)).toBe(true);
});

test("a source that is deleted meanwhile gets no released rows, and a date takes a hundred releases", async () => {
	const { release, rows, store } = await quarantine();
	const deleted = async () => {
		throw new Error("deleted");
	};
	await expect(release("one", {}, deleted)).rejects.toThrow("deleted");
	expect(await rows()).toEqual([]);
	for (let number = 1; number <= 100; number++)
		await store.putNew(
			keys.release(folder, number),
			JSON.stringify({ version: 1, operation: `${number}`, key: "k", rows: 1 }),
		);
	await expect(release("one")).rejects.toMatchObject({
		code: "ReleasesTooMany",
	});
});

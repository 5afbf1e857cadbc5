// In make test: ingest/lake/manifest/imports.test.ts
import { expect, test } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import type { ImportRequest } from "../../../packages/contracts/transfer.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { PartWriter } from "../../operation/import/part-writer.ts";
import { encodeEvent } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import { SourceImport } from "./source-import.ts";

const keys = objectKeys("");
const source = { account: "shop", sourceKey: "aa".repeat(16) };
const kept = { from: "2026-03-01", to: "2026-03-31" };
const [first, second] = ["2026-03-01", "2026-03-02"];

/** Text is too little for a part. */
class PartStore extends MemoryStore {
	override async getPart(key: string) {
		this.reads.push(key);
		const content = this.objects.get(key);
		const bytes = Uint8Array.from(Buffer.from(content ?? "", "base64"));
		return content === undefined
			? undefined
			: { bytes, totalBytes: bytes.length };
	}
}

function event(date: string, number: number, changes = {}): FrameEvent {
	const receivedAtMs = Date.parse(date) + number;
	const id = Buffer.alloc(16, number);
	id.writeUIntBE(receivedAtMs, 0, 6);
	id[6] = 0x70;
	id[8] = 0x80;
	return {
		...source,
		id,
		receivedAtMs,
		kind: "json",
		headers: "",
		violations: "",
		body: Buffer.from(String(number)),
		...changes,
	};
}

/** The parts of an Operation's Job, each with these events. */
async function leave(
	store: PartStore,
	operation: string,
	...parts: FrameEvent[][]
): Promise<ImportRequest> {
	for (const [index, events] of parts.entries()) {
		const writer = new PartWriter(1, async (_, part) => {
			const key = keys.importPart(source, operation, index + 1);
			await store.putNew(key, part.toString("base64"));
		});
		for (const each of events)
			await writer.add(Buffer.concat(encodeEvent(each)));
		await writer.end();
	}
	return { ...source, operation, parts: parts.length };
}

interface ImportDeps {
	store: PartStore;
	/** Objects that the Operation's manifest names. */
	seen?: string[];
	idle?: () => Promise<void>;
}

async function add(
	request: ImportRequest,
	{ store, seen = [], idle = async () => {} }: ImportDeps,
) {
	const deps = { store, idle, kept };
	const added = new SourceImport(deps, request, new Set(seen));
	for (let part = 1; part <= request.parts; part++)
		for (let isLeft = true; isLeft; ) isLeft = await added.add(part);
	return added.dates;
}

async function recordsOf(store: PartStore) {
	const releases = new AdditionStore(store);
	const dates = await Promise.all(
		[first!, second!].map((date) => releases.ofDate({ ...source, date })),
	);
	return dates.flat();
}

const rowsOf = async (store: PartStore) =>
	(await recordsOf(store)).map(({ date, rows }) => [date, rows]);

const two = [
	[event(first!, 1), event(first!, 2), event(second!, 3)],
	[event(second!, 4)],
];
const dates = [
	{ date: first, events: 2 },
	{ date: second, events: 2 },
];
const rows = [
	[first, 2],
	[second, 1],
	[second, 1],
];

test("each part adds its events to their dates once, however often archive is asked", async () => {
	const store = new PartStore();
	const request = await leave(store, "one", ...two);
	for (const _ of ["once", "again"])
		expect(await add(request, { store })).toEqual(dates);
	expect(await rowsOf(store)).toEqual(rows);
});

test.each([
	["putNew", 1],
	["putNew", 2],
	["putNew", 3],
	["putNew", 4],
	["putNew", 5],
	["putNew", 6],
	["getPart", 2],
] as const)(
	"an import that dies after its %s number %i and is repeated adds each event once",
	async (step, number) => {
		const store = new PartStore();
		const request = await leave(store, "one", ...two);
		let [calls, isDead] = [0, false];
		const mortal = new Proxy(store, {
			get(target, property) {
				const value = Reflect.get(target, property, target);
				if (typeof value !== "function") return value;
				return (...args: unknown[]) => {
					if (isDead) throw new Error("dead");
					const done = value.apply(target, args);
					isDead = property === step && ++calls === number;
					return isDead
						? done.then(() => {
								throw new Error("dead");
							})
						: done;
				};
			},
		});
		await expect(add(request, { store: mortal })).rejects.toThrow("dead");
		expect(await add(request, { store })).toEqual(dates);
		expect(await rowsOf(store)).toEqual(rows);
	},
);

test("a part of many dates is added ten dates at a time", async () => {
	const store = new PartStore();
	const days = Array.from(
		{ length: 25 },
		(_, at) => `2026-03-${String(25 - at).padStart(2, "0")}`,
	);
	const request = await leave(
		store,
		"one",
		days.map((date, at) => event(date, at + 1)),
	);
	const deps = { store, idle: async () => {}, kept };
	const added = new SourceImport(deps, request, new Set());
	const counts: number[] = [];
	for (let isLeft = true; isLeft; ) {
		isLeft = await added.add(1);
		counts.push(added.dates.length);
	}
	expect(counts).toEqual([10, 20, 25]);
	expect(added.dates.map(({ date }) => date)).toEqual(days.toReversed());
});

test("two archives that add the same part at once add it once, and leave no other object", async () => {
	const store = new PartStore();
	const request = await leave(store, "one", ...two);
	let isFirst = true;
	const idle = async () => {
		if (!isFirst) return;
		isFirst = false;
		await add(request, { store });
	};
	expect(await add(request, { store, idle })).toEqual(dates);
	expect(await rowsOf(store)).toEqual(rows);
	const named = (await recordsOf(store)).map(({ key }) => key);
	const made = [...store.objects.keys()].filter((key) =>
		key.endsWith(".parquet"),
	);
	expect(made.sort()).toEqual(named.sort());
});

test("what another Import added since the Job looked is not added again", async () => {
	const store = new PartStore();
	const one = await leave(store, "one", [event(first!, 1)]);
	const other = await leave(store, "other", [event(first!, 1)]);
	await add(one, { store });
	await expect(add(other, { store })).rejects.toMatchObject({
		code: "ImportOutdated",
	});
	// One that the Job had before it does no harm.
	const seen = (await recordsOf(store)).map(({ key }) => key);
	const later = await leave(store, "later", [event(first!, 2)]);
	expect(await add(later, { store, seen })).toEqual([
		{ date: first, events: 1 },
	]);
});

test.each<[string, object]>([
	["of another account", { account: "other" }],
	["of another source", { sourceKey: "bb".repeat(16) }],
	["for quarantine", { quarantined: true }],
	["with a sender's key", { key: "cc".repeat(16) }],
	["with a validation", { violations: "{}" }],
	["whose id has another time", { id: Buffer.alloc(16, 0x77) }],
	["with headers that are no object", { headers: "[]" }],
	["with headers that are no texts", { headers: '{"a":1}' }],
	["with half of a pair in a header", { headers: '{"a":"\\ud800"}' }],
	["whose body is no UTF-8", { body: Buffer.from([0xff]) }],
])("archive takes no event %s", async (_, changes) => {
	const store = new PartStore();
	const wrong = event(first!, 1, changes);
	// A frame of version 1 has neither.
	const isNewer = "quarantined" in changes || "key" in changes;
	const request = await leave(store, "one", [wrong]);
	await expect(add(request, { store })).rejects.toMatchObject({
		code: "ImportInvalid",
		message: expect.stringContaining(
			isNewer ? "unknown content kind" : "none of the source",
		),
	});
	expect(await rowsOf(store)).toEqual([]);
});

test.each(["2026-02-28", "2026-04-01"])(
	"archive takes no event of %s, which isn't kept",
	async (date) => {
		const store = new PartStore();
		const request = await leave(store, "one", [event(date, 1)]);
		await expect(add(request, { store })).rejects.toMatchObject({
			code: "ImportInvalid",
		});
	},
);

test.each([
	["empty", Buffer.alloc(0)],
	["zeros", Buffer.alloc(100)],
	["longer than it is", Buffer.alloc(100, 0xff)],
])("archive takes no part that is %s", async (_, bytes) => {
	const store = new PartStore();
	const key = keys.importPart(source, "one", 1);
	await store.putNew(key, bytes.toString("base64"));
	const request = { ...source, operation: "one", parts: 1 };
	await expect(add(request, { store })).rejects.toMatchObject({
		code: "ImportInvalid",
	});
});

test("a part that is gone is no empty one", async () => {
	const request = { ...source, operation: "one", parts: 1 };
	await expect(add(request, { store: new PartStore() })).rejects.toMatchObject({
		code: "ObjectMissing",
	});
});

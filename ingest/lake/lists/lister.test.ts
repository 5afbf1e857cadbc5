import pino from "pino";
import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import {
	addDays,
	dayMs,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { Tombstones } from "../../archive/write/tombstones.ts";
import { nameIn } from "../../wire/object-name.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import { CompactionStore } from "../compaction/record.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { RetentionStore } from "../retention/source-retention.ts";
import { Lister, type ListerOptions, namesInList } from "./lister.ts";

const today = utcDate(Date.now());
const { signal } = new AbortController();
const shop = { account: "shop", sourceKey: "aa".repeat(16) };
const bank = { account: "bank", sourceKey: "bb".repeat(16) };
const stream = "tidemill-frames-0-aaaaaaaaaaaaaaaa";

/** A bucket, and an index that has an object of each of these sources and ages in days. */
function bucket(has: [source: typeof shop, age: number][]) {
	const store = new MemoryStore("p");
	const sources = has.map(([source, age], at) => ({
		...source,
		firstEventDate: today,
		lastEventTime: "",
		archivedThrough: new Date().toISOString(),
		objects: new Map([
			[
				addDays(today, -age),
				DateObjects.of([{ stream, first: at + 1, rows: 1 }]),
			],
		]),
		quarantined: new Map(),
		deviations: new Map(),
	}));
	const index = LedgerIndex.of({
		newestOfStream: [],
		sources,
		days: [],
		lostFrames: [],
	});
	const listFailures = new Counter({
		name: "failures",
		help: "-",
		registers: [new Registry()],
	});
	const told: boolean[] = [];
	let isCurrent = true;
	const tombstones = new Tombstones(store);
	const options = {
		store,
		bucket: "b",
		shards: [{ number: 0, index, isCurrent: async () => isCurrent }],
		intervalMs: 1,
		objectsDone: async () => 0,
		tombstones,
		replaced: new CompactionStore(store),
		retentions: new RetentionStore(store),
		metrics: {
			listFailures,
			tellWork: (_: string, isFailing: boolean) => void told.push(isFailing),
		},
		log: pino({ level: "silent" }),
	} satisfies ListerOptions;
	const listOf = (source: typeof shop, age: number, name: string | number) =>
		store.objects.get(
			store.keys.list({ ...source, date: addDays(today, -age) }, name),
		);
	return {
		store,
		index,
		tombstones,
		retentions: options.retentions,
		options,
		listOf,
		lister: new Lister(options),
		standBy: () => {
			isCurrent = false;
		},
		told,
		failures: async () => (await listFailures.get()).values[0]!.value,
	};
}

async function noteRelease(store: MemoryStore, age: number, number: number) {
	const folder = { ...shop, date: addDays(today, -age) };
	const key = store.keys.addedObject(folder, number, "0123456789abcdef");
	await new AdditionStore(store).decide(number, {
		version: 1,
		...folder,
		operation: "o",
		stream,
		first: number,
		last: number,
		key,
		rows: 1,
		bytes: 1,
	});
	// No record names it.
	await store.putNew(
		store.keys.addedObject(folder, number, "f".repeat(16)),
		"late",
	);
	return key;
}

test("dates that a Run would load are listed, by their own sources' retention", async () => {
	const { store, retentions, lister, listOf } = bucket([
		[shop, 30],
		[bank, 31],
	]);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	const key = store.keys.events(
		{ ...shop, date: addDays(today, -30) },
		stream,
		1,
	);
	expect(listOf(shop, 30, 0)).toBe(`s3://b/${key}\n`);
	expect(listOf(bank, 31, 0)).toBeUndefined();
	await retentions.write(1, {
		version: 1,
		...bank,
		days: 400,
		from: addDays(today, -31),
	});
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(bank, 31, 0)).toContain("account=bank");
	expect(await lister.look(Date.now(), signal)).toBe(0);
});

test("released rows are listed as their records say, also of a source that no shard knows", async () => {
	const { store, lister, listOf } = bucket([]);
	const first = await noteRelease(store, 3, 1);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 3, "released")).toBe(`s3://b/${first}\n`);
	store.reads.length = 0;
	expect(await lister.look(Date.now(), signal)).toBe(0);
	expect(store.reads).toEqual([]);
	const second = await noteRelease(store, 3, 2);
	await lister.look(Date.now(), signal);
	expect(listOf(shop, 3, "released")).toBe(
		`s3://b/${first}\ns3://b/${second}\n`,
	);
});

test("a date that lost all its objects has no list", async () => {
	const { index, lister, listOf } = bucket([[shop, 1]]);
	await lister.look(Date.now(), signal);
	const { objects } = index.source(shop.account, shop.sourceKey)!;
	objects.set(addDays(today, -1), DateObjects.of([]));
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 1, 0)).toBeUndefined();
});

test("each source is found in the order of keys, where a name is the beginning of another", async () => {
	const names = ["shop", "shop-eu", "shop0", "a"];
	const sources = names.map((account) => ({ ...shop, account }));
	const { store, lister } = bucket(sources.map((source) => [source, 1]));
	expect(await lister.look(Date.now(), signal)).toBe(4);
	expect(await lister.look(Date.now(), signal)).toBe(0);
	const lists = await Array.fromAsync(store.list(store.keys.allLists()));
	const accounts = lists.map(({ key }) => /account=([^/]+)/.exec(key)![1]);
	expect(accounts.sort()).toEqual(names.sort());
});

test("deleted sources have no lists", async () => {
	const { store, tombstones, lister, listOf } = bucket([
		[bank, 1],
		[shop, 1],
	]);
	await noteRelease(store, 1, 1);
	await tombstones.add(shop);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(bank, 1, 0)).toBeDefined();
});

test("an archive that stands by writes no lists", async () => {
	const { store, lister, standBy } = bucket([[bank, 1]]);
	await noteRelease(store, 1, 1);
	standBy();
	expect(await lister.look(Date.now(), signal)).toBe(0);
});

test("a list that can't be written holds up no others", async () => {
	const { store, options, listOf, failures, told } = bucket([
		[bank, 1],
		[shop, 1],
	]);
	const refused = options.store.keys.listsOfSource(bank);
	const put = store.put.bind(store);
	store.put = async (key, text) => {
		if (key.startsWith(refused)) throw new Error("AccessDenied");
		await put(key, text);
	};
	const lister = new Lister(options);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 1, 0)).toBeDefined();
	expect(await failures()).toBe(1);
	store.put = put;
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(bank, 1, 0)).toBeDefined();
	expect(told).toEqual([true, false]);
});

test("a shard of which nobody knows how far it is holds up no others", async () => {
	const { options, index, listOf, failures } = bucket([[shop, 1]]);
	const unknown = {
		number: 1,
		index,
		isCurrent: async () => {
			throw new Error("no stream");
		},
	};
	const shards = [unknown, ...options.shards];
	const lister = new Lister({ ...options, shards });
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 1, 0)).toBeDefined();
	expect(listOf(shop, 1, 1)).toBeUndefined();
	expect(await failures()).toBe(1);
});

test("dates that the index has forgotten are listed once, by their own ledgers, each shard's apart", async () => {
	const { store, lister, listOf, index } = bucket([[shop, 90]]);
	await new RetentionStore(store).write(1, {
		version: 1,
		...shop,
		days: 400,
		from: addDays(today, -100),
	});
	const ledgers = new DateLedgers(store);
	const drainedAt = new Date().toISOString();
	const keep = { drainedAt, nowMs: Date.now(), staysLonger: () => true };
	await ledgers.keep(index, { shard: 0, ...keep });
	const moved = {
		stream: "tidemill-frames-1-aaaaaaaaaaaaaaaa",
		first: 7,
		rows: 1,
	};
	const { objects } = index.source(shop.account, shop.sourceKey)!;
	objects.set(addDays(today, -90), DateObjects.of([moved]));
	objects.set(addDays(today, -99), DateObjects.of([moved]));
	objects.set(addDays(today, -101), DateObjects.of([moved]));
	await ledgers.keep(index, { shard: 1, ...keep });
	expect(await lister.lookBack(Date.now(), signal)).toBe(3);
	expect(listOf(shop, 90, 0)).toContain("frames-0-");
	expect(listOf(shop, 90, 1)).toContain("frames-1-");
	expect(listOf(shop, 99, 1)).toContain("frames-1-");
	expect(listOf(shop, 101, 1)).toBeUndefined();
	expect(await lister.lookBack(Date.now(), signal)).toBe(0);
});

test("a look lists the releases of the sources that have new ones alone, however many there are", async () => {
	const { store, options, lister, listOf } = bucket([]);
	for (let number = 0; number < 300; number++) {
		const sourceKey = (1_000 + number).toString(16).padStart(32, "0");
		const date = addDays(today, -3);
		const key = store.keys.addedObject(
			{ account: "bank", sourceKey, date },
			1,
			"0123456789abcdef",
		);
		await store.put(key.replace("-0123456789abcdef.parquet", ".json"), "{}");
	}
	const { list } = store;
	const all = store.keys.allAdded();
	let listed = 0;
	store.list = async function* (...args) {
		for await (const object of list.apply(store, args)) {
			if (object.key.startsWith(all)) listed++;
			yield object;
		}
	};
	const look = async (at = Date.now()) => {
		listed = 0;
		await lister.look(at, signal);
		return listed;
	};
	const put = store.put.bind(store);
	store.put = () => Promise.reject(new Error("the store is away"));
	// Which sources there are, and then each one's.
	expect(await look()).toBe(600);
	// Nothing was written, so all is looked at again.
	expect(await look()).toBe(600);
	store.put = put;
	store.get = async () => JSON.stringify({ version: 1, key: "k" });
	expect(await look()).toBe(600);
	expect(await look()).toBe(0);
	delete (store as Partial<typeof store>).get;
	const key = await noteRelease(store, 2, 1);
	expect(await look()).toBe(2);
	expect(listOf(shop, 2, "released")).toBe(`s3://b/${key}\n`);
	expect(await look()).toBe(0);

	// An archive died before it told the others.
	const before = new Set(store.objects.keys());
	const late = await noteRelease(store, 1, 1);
	for (const key of store.objects.keys())
		if (!before.has(key) && key.startsWith(store.keys.additions()))
			store.objects.delete(key);
	expect(await look()).toBe(0);
	await new Lister(options).look(Date.now(), signal);
	expect(listOf(shop, 1, "released")).toBe(`s3://b/${late}\n`);
});

test("a look lists nothing of the bucket, reads the records of changed dates alone, and writes their lists alone", async () => {
	const { store, index, lister, listOf } = bucket([
		[shop, 1],
		[shop, 2],
		[bank, 1],
	]);
	const { objects } = index.source(shop.account, shop.sourceKey)!;
	objects.set(today, DateObjects.of([{ stream, first: 8, rows: 1 }]));
	expect(await lister.look(Date.now(), signal)).toBe(3);
	const look = async () => {
		[store.lists.length, store.reads.length] = [0, 0];
		return [await lister.look(Date.now(), signal), store.lists, store.reads];
	};
	// What was given up and who got releases, and nothing else.
	const lists = [store.keys.allAcceptedLosses(), store.keys.additions()];
	expect(await look()).toEqual([0, lists, []]);
	objects.get(today)!.add({ stream, first: 9, rows: 1 });
	const record = store.keys.compaction({ ...shop, date: today });
	expect(await look()).toEqual([1, lists, [record]]);
	expect(listOf(shop, 0, 0)).toContain("9.parquet");
	expect(await look()).toEqual([0, lists, []]);
});

test("all lists are compared once a day, and when this archive begins its work on a shard", async () => {
	const { options, store, listOf } = bucket([[shop, 1]]);
	await noteRelease(store, 1, 1);
	let isCurrent = true;
	const [shard] = options.shards;
	const shards = [{ ...shard!, isCurrent: async () => isCurrent }];
	const lister = new Lister({ ...options, shards });
	const nowMs = Date.now();
	const lists = () => [listOf(shop, 1, 0), listOf(shop, 1, "released")];
	expect(await lister.look(nowMs, signal)).toBe(2);
	const right = lists();
	const lose = async () => {
		const of = { ...shop, date: addDays(today, -1) };
		await store.put(store.keys.list(of, 0), "late");
		await store.remove([store.keys.list(of, "released")]);
	};
	await lose();
	expect(await lister.look(nowMs + dayMs - 1, signal)).toBe(0);
	expect(await lister.look(nowMs + dayMs, signal)).toBe(2);
	expect(lists()).toEqual(right);
	await lose();
	isCurrent = false;
	expect(await lister.look(nowMs + dayMs, signal)).toBe(0);
	isCurrent = true;
	expect(await lister.look(nowMs + dayMs, signal)).toBe(2);
	expect(lists()).toEqual(right);
});

test("a list that couldn't be written is written by the next look, and one of a date that is kept again", async () => {
	const { store, index, retentions, lister, listOf } = bucket([[shop, 31]]);
	const keep = (days: number, number: number) =>
		retentions.write(number, {
			version: 1,
			...shop,
			days,
			from: addDays(today, -31),
		});
	await keep(400, 1);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	const date = addDays(today, -31);
	const { objects } = index.source(shop.account, shop.sourceKey)!;
	objects.get(date)!.add({ stream, first: 9, rows: 1 });
	const put = store.put.bind(store);
	store.put = () => Promise.reject(new Error("the store is away"));
	expect(await lister.look(Date.now(), signal)).toBe(0);
	store.put = put;
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 31, 0)).toContain("9.parquet");
	await keep(30, 2);
	expect(await lister.look(Date.now(), signal)).toBe(0);
	// Retention has removed it.
	await store.remove([store.keys.list({ ...shop, date }, 0)]);
	await keep(400, 3);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 31, 0)).toContain("9.parquet");
});

test("lists leave out what is gone for good by a person's word, from the next look on, until it comes back", async () => {
	const { store, lister, listOf } = bucket([[shop, 1]]);
	const imported = await noteRelease(store, 1, 1);
	await store.put(imported, "rows");
	await lister.look(Date.now(), signal);
	const date = addDays(today, -1);
	const key = store.keys.events({ ...shop, date }, stream, 1);
	expect(listOf(shop, 1, 0)).toContain(key);
	await store.remove([imported]);
	await new AcceptedLosses(store).add({
		...{ version: 1, ...shop, date, time: "" },
		objects: [
			{ folder: "events", name: nameIn(key), rows: 1 },
			{ folder: "releases", name: nameIn(imported), rows: 1 },
		],
	});
	expect(await lister.look(Date.now(), signal)).toBe(2);
	expect(listOf(shop, 1, 0)).toBeUndefined();
	expect(listOf(shop, 1, "released")).toBeUndefined();
	expect(await lister.look(Date.now(), signal)).toBe(0);
	await store.put(key, "rows");
	await lister.look(Date.now() + dayMs, signal);
	expect(listOf(shop, 1, 0)).toContain(key);
});

test("a compaction that the index knows is listed by the next look", async () => {
	const { store, index, options, listOf } = bucket([[shop, 1]]);
	const lister = new Lister(options);
	const { objects } = index.source(shop.account, shop.sourceKey)!;
	const date = addDays(today, -1);
	objects.get(date)!.add({ stream, first: 2, rows: 1 });
	expect(await lister.look(Date.now(), signal)).toBe(1);
	const folder = store.keys.eventsOfDate({ ...shop, date });
	const inputs = [1, 2].map((first) =>
		store.keys.events({ ...shop, date }, stream, first).slice(folder.length),
	);
	const name = `${"0".repeat(64)}.parquet`;
	const outputs = [{ name, rows: 2, bytes: 1, sha256: "", inputs }];
	const record = { version: 1, ...shop, date, outputs } as const;
	await new CompactionStore(store).decide(record);
	const replaced = [1, 2].map((first) => ({ stream, first }));
	const left = objects.get(date)!.replace([{ rows: 2, inputs: replaced }]);
	objects.set(date, (await left)!);
	expect(await lister.look(Date.now(), signal)).toBe(1);
	expect(listOf(shop, 1, 0)).toBe(`s3://b/${folder}${name}\n`);
	store.reads.length = 0;
	expect(await lister.look(Date.now(), signal)).toBe(0);
	expect(store.reads).toEqual([]);
});

test.each<[string, boolean, number, string[]]>([
	["all, before a compaction", false, 1, ["1-1", "1-2", "1-3"]],
	["its outputs, and what came later", true, 1, ["compacted-x", "1-3"]],
	[
		"all, of the shard that the source had before or after",
		true,
		2,
		["2-1", "2-2", "2-3"],
	],
])("a shard's list has %s", (_, isCompacted, shard, expected) => {
	const nameOf = ({ stream, first }: { stream: string; first: number }) =>
		`${stream}-${first}.parquet`;
	const of = (shard: number, first: number) => ({
		stream: stream.replace("-0-", `-${shard}-`),
		first,
		rows: 1,
	});
	const inputs = [nameOf(of(1, 1)), nameOf(of(1, 2))];
	const name = "compacted-x.parquet";
	const outputs = [{ name, rows: 2, bytes: 1, sha256: "", inputs }];
	const record = { version: 1, ...shop, date: today, outputs } as const;
	const objects = [1, 2, 3].map((first) => of(shard, first));
	const names = namesInList(
		shard,
		objects,
		nameOf,
		isCompacted ? { ...record, outputs } : undefined,
	);
	expect(
		names.map((name) =>
			name.replace(/tidemill-frames-|-a{16}|[.]parquet/g, ""),
		),
	).toEqual(expected);
});

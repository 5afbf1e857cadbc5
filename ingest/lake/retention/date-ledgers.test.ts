import pino from "pino";
import { expect, test } from "vitest";
import { objectKeys } from "../../../packages/bucket/object-keys.ts";
import { streamName } from "../../../packages/contracts/nats.ts";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import { DateObjects } from "../../archive/ledger/date-objects.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../archive/ledger/ledger-snapshots.ts";
import { outputName } from "../../wire/object-name.ts";
import {
	type CompactionRecord,
	CompactionStore,
} from "../compaction/record.ts";
import { ManifestObjects } from "../manifest/manifest-objects.ts";
import { DateLedgers } from "./date-ledgers.ts";

const source = { account: "shop", sourceKey: "a".repeat(32) };
const date = "2026-03-31";
const day = { ...source, date };
const apart = { ...day, quarantined: true } as const;
const keys = objectKeys("tidemill");

/** Of a shard whose last event came on the date. */
const index = {
	archivedThrough: `${date}T12:00:00Z`,
	sources: () => [
		{
			...source,
			objects: new Map([
				[date, DateObjects.of([{ stream: "frames-0-a", first: 1, rows: 5 }])],
			]),
			quarantined: new Map(),
		},
	],
} as unknown as LedgerIndex;

/** A week after the date, by all clocks. */
const settledMs = Date.parse("2026-04-08T12:00:00Z");
const settledAt = new Date(settledMs).toISOString();

test.each([
	["has been drained a week later", settledAt, settledMs, 1],
	["may still get events of the date", undefined, settledMs, 0],
	["was drained on the date", `${date}T23:00:00Z`, settledMs, 0],
	["was drained the day after", "2026-04-01T12:00:00Z", settledMs, 0],
	[
		"was drained by a clock that is 8 days ahead",
		settledAt,
		settledMs - 8 * 86_400_000,
		0,
	],
])(
	"the date of a shard that %s and gets no more events",
	async (_, drainedAt, nowMs, written) => {
		const store = new MemoryStore("tidemill");
		const ledgers = new DateLedgers(store);
		const kept = await ledgers.keep(index, {
			shard: 0,
			nowMs,
			drainedAt,
			staysLonger: () => true,
		});
		expect(kept).toBe(written);
		const key = keys.ledgerOfDate({ ...source, date }, 0);
		expect([...store.objects.keys()]).toEqual(written ? [key] : []);
		if (!written) return;
		const { objects } = await ledgers.require({ ...source, date });
		expect([...objects()!]).toMatchObject([{ first: 1, rows: 5 }]);
	},
);

type Kept = { objects?: number; quarantined?: number };

/** A date on which the source was in these shards, each of which has so many events in one object. */
async function keptIn(shards: Kept[]) {
	const store = new MemoryStore("tidemill");
	const ledgers = new DateLedgers(store);
	for (const [shard, kept] of shards.entries()) {
		const stream = streamName(shard, "a");
		const byDate = (rows: number | undefined) =>
			new Map(
				rows ? [[date, DateObjects.of([{ stream, first: 1, rows }])]] : [],
			);
		const objects = byDate(kept.objects);
		const quarantined = byDate(kept.quarantined);
		if (kept.objects) await store.putNew(keys.events(day, stream, 1), "");
		if (kept.quarantined) await store.putNew(keys.events(apart, stream, 1), "");
		const own = { sources: () => [{ ...source, objects, quarantined }] };
		await ledgers.keep(own as unknown as LedgerIndex, {
			shard,
			drainedAt: settledAt,
			nowMs: settledMs,
			staysLonger: () => true,
		});
	}
	store.lists.length = 0;
	return { store, ledgers };
}

/** Shard 0's events are in another object now. */
async function compactFirst(store: MemoryStore, rows: number) {
	const key = keys.events(day, streamName(0, "a"), 1);
	const folder = keys.eventsOfDate(day);
	const inputs = [key.slice(folder.length)];
	const name = outputName(inputs);
	await store.remove([key]);
	await store.putNew(folder + name, "");
	const outputs = [{ name, rows, bytes: 1, sha256: "", inputs }];
	const record: CompactionRecord = { version: 1, ...day, outputs };
	await store.putNew(keys.compaction(day), JSON.stringify(record));
}

/** How many rows a manifest names of the date, and how many in quarantine. */
async function rowsIn(store: MemoryStore, ledgers: DateLedgers) {
	const { objects, quarantined } = await ledgers.require(day);
	const named = new ManifestObjects({
		store,
		replaced: new CompactionStore(store),
	});
	return [
		(await named.ofDate(day, objects, 60)).rows,
		(await named.ofDate(apart, quarantined, 60)).rows,
	];
}

test.each<[string, Kept, Kept, isCompacted: boolean]>([
	["both have events", { objects: 2 }, { objects: 3 }, false],
	["one's events are compacted", { objects: 2 }, { objects: 3 }, true],
	["one has only quarantine", { objects: 2 }, { quarantined: 3 }, false],
	[
		"one is compacted, the other quarantine",
		{ objects: 2 },
		{ quarantined: 3 },
		true,
	],
	[
		"both have quarantine",
		{ quarantined: 2 },
		{ objects: 3, quarantined: 1 },
		false,
	],
])(
	"a lost ledger of one of two shards never makes a smaller day: %s",
	async (_, first, second, isCompacted) => {
		for (const lost of [0, 1]) {
			const { store, ledgers } = await keptIn([first, second]);
			if (isCompacted) await compactFirst(store, first.objects!);
			const sumOf = (kind: keyof Kept) =>
				(first[kind] ?? 0) + (second[kind] ?? 0);
			const whole = [sumOf("objects"), sumOf("quarantined")];
			expect(await rowsIn(store, ledgers)).toEqual(whole);
			await store.remove([keys.ledgerOfDate(day, lost)]);
			await expect(rowsIn(store, ledgers)).rejects.toMatchObject({
				code: "LedgerMismatch",
			});
		}
	},
);

test("of a date whose events were all lost, an object that comes later doesn't count and ends no Run", async () => {
	const stream = streamName(0, "a");
	const lost = new LedgerIndex();
	const time = `${date}T12:00:00Z`;
	const group = { ...day, rows: 2, lastEventTime: time };
	const mark = { id: "x", time };
	lost.add({
		version: 1,
		stream,
		first: 1,
		last: 1,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: [group, { ...group, quarantined: true }],
	});
	const groups = [day, apart].map((each) => ({ ...each, rows: 2 }));
	const loss = { kind: "objects" as const, from: 1, to: 1, time, groups };
	lost.lose({ version: 1, stream, loss });
	const store = new MemoryStore("tidemill");
	const snapshots = new LedgerSnapshots(store, pino({ level: "silent" }));
	await snapshots.write(0, lost);
	const ledgers = new DateLedgers(store);
	await ledgers.keep((await snapshots.newest(0))!, {
		shard: 0,
		drainedAt: settledAt,
		nowMs: settledMs,
		staysLonger: () => true,
	});
	for (const each of [day, apart])
		await store.putNew(keys.events(each, stream, 1), "");
	expect(await rowsIn(store, ledgers)).toEqual([0, 0]);
});

test("a Source that keeps its events for years has no more of its ledgers listed than of the index's dates", async () => {
	const store = new MemoryStore("tidemill");
	for (let age = 0; age < 2_000; age++) {
		const group = { ...source, date: addDays(date, -age) };
		await store.putNew(keys.ledgerOfDate(group, 0), "{}");
	}
	let listed = 0;
	const { list } = store;
	store.list = async function* (...args) {
		for await (const object of list.apply(store, args)) {
			listed++;
			yield object;
		}
	};
	const kept = await new DateLedgers(store).keep(index, {
		shard: 0,
		drainedAt: settledAt,
		nowMs: settledMs,
		staysLonger: () => true,
	});
	expect([kept, listed]).toEqual([0, 1]);
});

import pino from "pino";
import { expect, test } from "vitest";
import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import { MemoryStore } from "../../../test/support/doubles/memory-store.ts";
import type { CutRecord } from "../../archive/decide/cut.ts";
import { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../archive/ledger/ledger-snapshots.ts";
import { SourceObjects } from "../events/date-objects.ts";
import { ManifestObjects } from "../manifest/manifest-objects.ts";
import { objectsIn, pageOf, shareOf } from "../request/shares.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { type CompactionRecord, CompactionStore } from "./record.ts";
import { forgetAllReplaced, forgetReplaced } from "./replaced-objects.ts";

const log = pino({ level: "silent" });
const [date, account, sourceKey] = ["2026-03-01", "shop", "5a".repeat(16)];
const group = { account, sourceKey, date };
const apart = { ...group, quarantined: true } as const;
/** A date's events, and those in quarantine. */
const folders: [string, DateFolder][] = [
	["events", group],
	["quarantine", apart],
];
const manifestObjects = (store: MemoryStore) =>
	new ManifestObjects({ store, replaced: new CompactionStore(store) });
const [older, stream] = ["tidemill-frames-7-aa", "tidemill-frames-7-bb"];

function cut(
	stream: string,
	first: number,
	folder: DateFolder = group,
): CutRecord {
	const time = "2026-03-01T12:00:00.000Z";
	const mark = { id: "x", time };
	return {
		version: 1,
		stream,
		first,
		last: first,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: [{ ...folder, rows: first, lastEventTime: time }],
	};
}

/** A shard with cuts of two streams, and what is in the bucket once a compaction has replaced all but the last. */
async function compacted(folder: DateFolder = group) {
	const store = new MemoryStore();
	const cuts = [
		...[1, 2, 3].map((first) => cut(older, first, folder)),
		...[1, 2, 3, 4, 5].map((first) => cut(stream, first, folder)),
	];
	const index = new LedgerIndex();
	const nameOf = ({ stream, first }: { stream: string; first: number }) =>
		store.keys
			.events(folder, stream, first)
			.slice(store.keys.eventsOfDate(folder).length);
	for (const each of cuts) {
		index.add(each);
		await store.put(store.keys.events(folder, each.stream, each.first), "");
	}
	const outputs = [cuts.slice(0, 2), cuts.slice(2, 7)].map(
		(inputs, number) => ({
			name: `compacted-${number}.parquet`,
			rows: inputs.reduce((sum, { first }) => sum + first, 0),
			bytes: 9,
			sha256: "",
			inputs: inputs.map(nameOf),
		}),
	);
	const record: CompactionRecord = { version: 1, ...folder, outputs };
	const records = new CompactionStore(store);
	const decide = async () => {
		for (const { name } of outputs)
			await store.put(store.keys.eventsOfDate(folder) + name, "");
		await records.decide(record);
	};
	return { store, index, record, records, decide, nameOf };
}

const source = (index: LedgerIndex) => index.source(account, sourceKey)!;

/** What each reader of the date finds. */
async function seenBy(
	store: MemoryStore,
	index: LedgerIndex,
	folder: DateFolder = group,
) {
	const kind = folder.quarantined ? "quarantined" : "objects";
	const day = (objects: () => ReturnType<typeof objectsIn>) =>
		manifestObjects(store).ofDate(folder, objects, 60);
	const own = await day(() => objectsIn([source(index)], kind, date));
	const { firstEventDate } = source(index);
	const share = shareOf(firstEventDate, pageOf(source(index)).dates);
	const events = await new SourceObjects(
		store,
		new CompactionStore(store),
	).ofDate(source(index), date, folder.quarantined ? "quarantined" : "objects");
	return {
		own,
		shared: await day(() => objectsIn([share], kind, date)),
		events,
	};
}

test.each(folders)(
	"a day is the ledger's count, and each reader finds the same objects, before and after the index has forgotten those that a compaction replaced: %s",
	async (_, folder) => {
		const { store, index, record, decide } = await compacted(folder);
		const before = await seenBy(store, index, folder);
		expect(before.own.rows).toBe(21);
		expect(before.own.objects).toHaveLength(8);
		await decide();
		const held = await seenBy(store, index, folder);
		expect(held.own.rows).toBe(21);
		expect(held.own.objects).toHaveLength(3);
		expect(
			held.events.map(({ stream, from, first }) => [stream, from, first]),
		).toEqual([
			[older, 1, 2],
			[stream, 1, 4],
			[stream, 5, 5],
		]);
		await forgetReplaced({ number: 7, index }, record);
		const { objects, quarantined } = source(index);
		const left = folder.quarantined ? quarantined : objects;
		expect([...left.get(date)!]).toHaveLength(4);
		expect(await seenBy(store, index, folder)).toEqual(held);

		const snapshots = new LedgerSnapshots(store, log);
		await snapshots.write(7, index);
		const restored = (await snapshots.newest(7))!;
		expect(await seenBy(store, restored, folder)).toEqual(held);

		// A clock that was behind brings the date more events.
		for (const each of [index, restored]) each.add(cut(stream, 6, folder));
		await store.put(store.keys.events(folder, stream, 6), "");
		const later = await seenBy(store, index, folder);
		expect(later.own.rows).toBe(27);
		expect(await seenBy(store, restored, folder)).toEqual(later);
		expect(later.shared).toEqual(later.own);
	},
);

test.each(folders)(
	"a ledger of a date that stays longer, made after objects left the index, has the day's count: %s",
	async (_, folder) => {
		const { store, index, record, decide } = await compacted(folder);
		await decide();
		const { own } = await seenBy(store, index, folder);
		await forgetReplaced({ number: 7, index }, record);
		const ledgers = new DateLedgers(store);
		const nowMs = Date.parse("2026-04-01T12:00:00Z");
		const drainedAt = new Date(nowMs).toISOString();
		await ledgers.keep(index, {
			shard: 7,
			nowMs,
			drainedAt,
			staysLonger: () => true,
		});
		const { objects, quarantined } = await ledgers.require(group);
		const all = folder.quarantined ? quarantined : objects;
		const day = await manifestObjects(store).ofDate(folder, all, 60);
		expect(day).toEqual(own);
	},
);

test("a date that is compacted, and whose objects leave the index, while it is read has its events once", async () => {
	const { store, index } = await compacted();
	const before = await seenBy(store, index);
	/** The compaction comes right after its record was looked for. */
	const compactedMeanwhile = async () => {
		const { store, index, record, decide } = await compacted();
		const get = store.get.bind(store);
		store.get = async (key) => {
			const text = await get(key);
			store.get = get;
			await decide();
			await forgetReplaced({ number: 7, index }, record);
			return text;
		};
		return { store, of: source(index) };
	};
	const first = await compactedMeanwhile();
	const objects = () => objectsIn([first.of], "objects", date);
	expect(await manifestObjects(first.store).ofDate(group, objects, 60)).toEqual(
		before.own,
	);
	const second = await compactedMeanwhile();
	expect(
		await new SourceObjects(
			second.store,
			new CompactionStore(second.store),
		).ofDate(second.of, date, "objects"),
	).toEqual(before.events);
});

test("a shard that the Source has moved from or to forgets nothing by the other's record, and one that is behind waits", async () => {
	const { index, record } = await compacted();
	const other = new LedgerIndex();
	const moved = "tidemill-frames-8-cc";
	for (const first of [1, 2]) other.add(cut(moved, first));
	expect(await forgetReplaced({ number: 8, index: other }, record)).toBe(true);
	expect(source(other).objects.get(date)).toMatchObject({
		count: 2,
		replaced: 0,
	});
	const behind = new LedgerIndex();
	for (const first of [1, 2, 3]) behind.add(cut(older, first));
	expect(await forgetReplaced({ number: 7, index: behind }, record)).toBe(
		false,
	);
	expect(await forgetReplaced({ number: 7, index }, record)).toBe(true);
	expect(source(index).objects.get(date)).toMatchObject({
		count: 8,
		replaced: 4,
	});
});

test.each(folders)(
	"what another archive has compacted, and this one before a restart, is forgotten; each record is read once: %s",
	async (_, folder) => {
		const { store, index, records, decide } = await compacted(folder);
		const key = store.keys.compaction(folder);
		const { objects, quarantined } = source(index);
		const ofDates = folder.quarantined ? quarantined : objects;
		const look = (isThere: boolean) =>
			forgetAllReplaced(
				{ number: 7, index },
				{
					hasRecord: (asked) => isThere && asked === key,
					records,
					keys: store.keys,
					log,
				},
			);
		await look(false);
		expect(store.reads).toEqual([]);
		await store.put(key, "not JSON");
		await look(true);
		expect(ofDates.get(date)!.replaced).toBeUndefined();
		store.objects.delete(key);
		await decide();
		store.reads.length = 0;
		for (let looks = 0; looks < 3; looks++) await look(true);
		expect(store.reads).toEqual([key]);
		expect(ofDates.get(date)!.replaced).toBe(4);
	},
);

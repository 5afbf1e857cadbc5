import { shardOfStream } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { repeatedly } from "../../../packages/service/repetition.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { DateFolder } from "../../archive/s3/object-keys.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { CompactionStore } from "../compaction/record.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { listInParts } from "../retention/listing.ts";
import {
	type RetentionRecord,
	RetentionStore,
} from "../retention/source-retention.ts";
import { type ListWriteOptions, ListWrites, lineBytes } from "./list-writes.ts";
import { dateOf, type ListPass, ReleasedLists } from "./released-lists.ts";
import {
	compactionOfShard,
	expectedBytes,
	type ListedCompaction,
	namesInList,
} from "./shard-list.ts";
import { pathOf, SourceCursor, sourceAt } from "./source-cursor.ts";

const firstLookMs = 10_000;
const maxTombstonesAgeMs = 60_000;
const datesAtOnce = 8;
/** A look that compares may be as rare as one of so many: once an hour, at the usual interval. */
const mostLooksBetween = 12;
/** So many a look, on average, compare with the bucket: as many as 50,000 lists take, and as many records of compactions. */
const usualRequests = 100;
/** Of an hour. Each takes two requests. */
const mostRetentionsListed = 1_000;

/** What the lists need of a shard. */
export interface ListedShard {
	readonly number: number;
	readonly index: LedgerIndex;
	/** While another archive is at work, that one writes the lists. */
	isCurrent: LakeShard["isCurrent"];
}

export interface ListerOptions extends ListWriteOptions {
	shards: readonly ListedShard[];
	/** The average time between two looks; 0 for no lists. */
	intervalMs: number;
	/** The stream's sequence through which all objects are in the store. */
	objectsDone: (stream: string) => Promise<number>;
	tombstones: Tombstones;
	/** Those through which this process changes a source's retention: others' changes are found by the next look that compares. */
	retentions?: RetentionStore;
	/** How many requests a look takes on average at most, unless that leaves too much time between two that compare. */
	mostRequests?: number;
}

/** What the bucket has of one shard's list of a date, as far as this archive knows. */
interface KnownList {
	/** 0 for none. */
	bytes: number;
	/** What the date's compaction record says of the shard. A record never changes. */
	compaction: ListedCompaction | undefined;
}

/** Of one shard: by the path of its source, and by date. */
type KnownLists = Map<string, Map<UtcDate, KnownList>>;

/** What a look that compares has found in the bucket. */
interface FoundLists {
	/** Lengths of the lists, by key. */
	bytesOf: ReadonlyMap<string, number>;
	/** Keys of compaction records. */
	records: ReadonlySet<string>;
}

/**
 * Writes down which objects a reader of the bucket reads, so that readers need no rule: for each source and date a text with an
 * object in each line, for each shard that has events of it, and one for what was released and imported. An event is always in
 * an object of the same list, and a list is replaced by one PUT, so each event is found once at every moment, in whatever order
 * a reader reads the lists; see docs/decisions/0031-readers-of-the-bucket-follow-lists.md.
 *
 * Lists follow from what the bucket has. A look compares lengths with the bucket's, so it also finds what a restart, a failed write or
 * an archive that woke up late has left behind. Where that takes many requests, some looks compare with what this archive has found
 * and written since, and list nothing: so what looks cost is bounded, however many lists the bucket keeps.
 */
export class Lister {
	readonly #options: ListerOptions;
	readonly #compactions: CompactionStore;
	readonly #released: ReleasedLists;
	readonly #retentions: RetentionStore;
	readonly #dateLedgers: DateLedgers;
	/** By the numbers of the shards whose lists this archive writes. */
	readonly #known = new Map<number, KnownLists>();
	/** How many looks need not compare with the bucket. */
	#looksLeft = 0;

	constructor(options: ListerOptions) {
		this.#options = options;
		const { store } = options;
		this.#compactions = new CompactionStore(store);
		this.#released = new ReleasedLists(options);
		this.#retentions = options.retentions ?? new RetentionStore(store);
		this.#dateLedgers = new DateLedgers(store);
	}

	/** Looks until the signal fires. A later look repeats what failed. */
	async run(signal: AbortSignal): Promise<void> {
		const { intervalMs, metrics, log } = this.#options;
		if (intervalMs === 0) return;
		const look = () =>
			this.look(Date.now(), signal).catch((error) => {
				if (!signal.aborted) metrics.listFailures.inc();
				throw error;
			});
		const firstMs = Math.min(firstLookMs, intervalMs);
		const times = { intervalMs, firstMs, jitter: 0.1 };
		await repeatedly("the look after lists", look, { ...times, log, signal });
	}

	/** Writes the lists that aren't as they should be. Returns how many. */
	async look(nowMs: number, signal: AbortSignal): Promise<number> {
		const { tombstones, objectsDone } = this.#options;
		const writes = new ListWrites(this.#options, signal);
		const shards: ListedShard[] = [];
		for (const shard of this.#options.shards)
			await writes.attempt(`lists of shard ${shard.number}`, async () => {
				if (await shard.isCurrent(objectsDone, signal)) shards.push(shard);
			});
		// Another archive writes the others' lists meanwhile.
		for (const number of this.#known.keys())
			if (!shards.some((shard) => shard.number === number))
				this.#known.delete(number);
		// An archive that stands by leaves the lists of releases to the others, too.
		if (shards.length === 0) return 0;
		await tombstones.refresh(maxTombstonesAgeMs);
		const changed = await this.#released.changed();
		const isCompared =
			this.#looksLeft === 0 ||
			changed === "all" ||
			shards.some(({ number }) => !this.#known.has(number));
		const retentions = await this.#retentions.all({ isAnew: isCompared });
		const isKept = keptDates(
			retentions.map(({ record }) => record),
			utcDate(nowMs),
		);
		const pass = { isKept, writes };
		if (changed !== "all" && !isCompared) {
			await this.#follow(shards, pass, changed);
			this.#looksLeft--;
		} else {
			// One that fails is done again.
			this.#looksLeft = 0;
			const requests = await this.#compare(shards, pass, changed);
			const { mostRequests = usualRequests } = this.#options;
			const looks = Math.ceil(requests / mostRequests);
			this.#looksLeft = Math.min(looks, mostLooksBetween) - 1;
		}
		const written = await writes.finish();
		if (writes.failures === 0) this.#released.forgetChanged();
		return written;
	}

	/** Compares with the bucket, from the earliest date of each source on that the indexes hold. Returns how many requests that took. */
	async #compare(
		shards: readonly ListedShard[],
		pass: Omit<ListPass, "source">,
		changed: ReadonlySet<string> | "all",
	): Promise<number> {
		const { store, tombstones } = this.#options;
		const { keys } = store;
		const open = (prefix: string) => new SourceCursor(store, prefix);
		const lists = open(keys.allLists());
		const compactions = open(keys.compactions());
		const releases = open(keys.allReleases());
		const changedPaths = changed === "all" ? [] : changed;
		const before = new Map(this.#known);
		for (const { number } of shards) this.#known.set(number, new Map());
		const indexed = shards.flatMap(({ index }) => [...index.sources()]);
		const paths = [...new Set([...indexed.map(pathOf), ...changedPaths])]
			.sort()
			.values();
		let own = paths.next().value;
		for (;;) {
			const released = changed === "all" ? await releases.path() : undefined;
			const [path] = [own, released]
				.filter((path) => path !== undefined)
				.sort();
			if (path === undefined) break;
			if (path === own) own = paths.next().value;
			const source = sourceAt(path);
			const { account, sourceKey } = source;
			const added =
				changed === "all"
					? await releases.take(path)
					: changed.has(path)
						? await this.#released.of(source)
						: [];
			const [from] = [
				...shards.flatMap(({ index }) => [
					...(index.source(account, sourceKey)?.objects.keys() ?? []),
				]),
				...added.slice(0, 1).map(({ key }) => dateOf(key)),
			].sort();
			const listed = await lists.take(path, from);
			const found: FoundLists = {
				bytesOf: new Map(listed.map(({ key, bytes }) => [key, bytes])),
				// Before the objects, among which is what a record replaces.
				records: new Set(
					(await compactions.take(path, from)).map(({ key }) => key),
				),
			};
			if (tombstones.has(source)) continue;
			const ofSource = { source, ...pass };
			for (const shard of shards) {
				const known = before.get(shard.number)?.get(path) ?? new Map();
				await this.#lookAtShard(shard, ofSource, known, found);
			}
			await this.#released.compare(added, found.bytesOf, ofSource);
		}
		return lists.requests + compactions.requests;
	}

	/** Compares with what is known of the bucket. */
	async #follow(
		shards: readonly ListedShard[],
		pass: Omit<ListPass, "source">,
		changed: ReadonlySet<string>,
	): Promise<void> {
		const { tombstones } = this.#options;
		for (const shard of shards) {
			const known = this.#known.get(shard.number)!;
			for (const source of shard.index.sources()) {
				if (tombstones.has(source)) continue;
				const ofSource = known.get(pathOf(source)) ?? new Map();
				await this.#lookAtShard(shard, { source, ...pass }, ofSource);
			}
		}
		for (const path of [...changed].sort())
			await this.#released.lookAt({ source: sourceAt(path), ...pass });
	}

	/** @param found undefined if only what this archive knows is compared. */
	async #lookAtShard(
		shard: ListedShard,
		{ source, isKept, writes }: ListPass,
		known: Map<UtcDate, KnownList>,
		found?: FoundLists,
	): Promise<void> {
		const { keys } = this.#options.store;
		const { account, sourceKey } = source;
		const dates = shard.index.source(account, sourceKey)?.objects;
		if (!dates) return;
		for (const date of known.keys()) if (!dates.has(date)) known.delete(date);
		this.#known.get(shard.number)!.set(pathOf(source), known);
		await mapConcurrently([...dates], datesAtOnce, async ([date, ofDate]) => {
			const group = { account, sourceKey, date };
			if (!isKept(group)) return;
			const key = keys.list(group, shard.number);
			const list: KnownList = known.get(date) ?? noList();
			known.set(date, list);
			if (found) list.bytes = found.bytesOf.get(key) ?? 0;
			const folder = keys.eventsOfDate(group);
			// The index forgets what is replaced once the record is in the bucket.
			const hasRecord = found
				? found.records.has(keys.compaction(group))
				: (list.compaction ?? ofDate.replaced) !== undefined;
			if (!hasRecord) list.compaction = undefined;
			else
				list.compaction ??= compactionOfShard(
					await this.#compactions.of(group),
					shard.number,
				);
			const expected = expectedBytes(
				ofDate,
				this.#nameIn(group),
				list.compaction,
				(name) => this.#lineBytes(folder + name),
			);
			if (expected === list.bytes) return;
			const objects = () => this.#objectsOf(group, shard.number, [...ofDate]);
			await writes.add({
				key,
				listedBytes: list.bytes,
				objects,
				onWritten: (bytes) => {
					list.bytes = bytes;
				},
			});
		});
	}

	/**
	 * Writes the lists of dates that indexes don't hold any more, where they are missing: an archive that wrote no lists has left
	 * them out. And those of releases that aren't as they should be: an archive may have died before it told the others. Returns how many.
	 */
	async lookBack(nowMs: number, signal: AbortSignal): Promise<number> {
		const { intervalMs, store, tombstones } = this.#options;
		if (intervalMs === 0) return 0;
		const today = utcDate(nowMs);
		const writes = new ListWrites(this.#options, signal);
		const retentions = await this.#retentions.all();
		const isKept = keptDates(
			retentions.map(({ record }) => record),
			today,
		);
		await this.#released.lookBack({ isKept, writes });
		await listInParts(store, "older-lists", [store.keys.allRetentions()], {
			mostListed: mostRetentionsListed,
			work: async (some) => {
				const paths = new Set<string>();
				for await (const { key } of some)
					paths.add(/account=[^/]+\/source=[^/]+\//.exec(key)?.[0] ?? "");
				for (const { record } of retentions)
					if (paths.has(pathOf(record)) && !tombstones.has(record))
						await this.#lookBackAtDates(record, today, writes);
			},
		});
		return writes.finish();
	}

	async #lookBackAtDates(
		record: RetentionRecord,
		today: UtcDate,
		writes: ListWrites,
	): Promise<void> {
		const { store } = this.#options;
		const { account, sourceKey } = record;
		const dates = await this.#dateLedgers.datesOf(record);
		const listed = new Set<UtcDate>();
		for await (const { key } of store.list(store.keys.listsOfSource(record)))
			if (/\/\d+\.txt$/.test(key)) listed.add(dateOf(key));
		for (const date of dates) {
			const isOlder = date < keptFrom(undefined, today);
			if (!isOlder || date < keptFrom(record, today) || listed.has(date))
				continue;
			const group = { account, sourceKey, date };
			await writes.attempt(store.keys.list(group, "*"), async () => {
				const ledger = await this.#dateLedgers.require(group);
				const shards = Map.groupBy(
					ledger.objects() ?? [],
					({ stream }) => shardOfStream(stream) ?? 0,
				);
				for (const [shard, ofShard] of shards)
					await writes.add({
						key: store.keys.list(group, shard),
						listedBytes: 0,
						objects: () => this.#objectsOf(group, shard, ofShard),
					});
			});
		}
	}

	/** Keys. The objects are known before the record is read, which names all that was replaced of them. */
	async #objectsOf(
		group: DateFolder,
		shard: number,
		objects: readonly IndexedObject[],
	): Promise<string[]> {
		const folder = this.#options.store.keys.eventsOfDate(group);
		const record = await this.#compactions.of(group);
		const names = namesInList(shard, objects, this.#nameIn(group), record);
		return names.map((name) => folder + name);
	}

	#nameIn(group: DateFolder): (object: IndexedObject) => string {
		const { keys } = this.#options.store;
		const folder = keys.eventsOfDate(group);
		return ({ stream, first }) =>
			keys.events(group, stream, first).slice(folder.length);
	}

	#lineBytes(key: string): number {
		return lineBytes(this.#options.bucket, key);
	}
}

function noList(): KnownList {
	return { bytes: 0, compaction: undefined };
}

/** Whether a Run would load a date. Archive removes its objects a day later. */
function keptDates(
	retentions: readonly RetentionRecord[],
	today: UtcDate,
): (group: DateFolder) => boolean {
	const longer = new Map(
		retentions.map((record) => [pathOf(record), keptFrom(record, today)]),
	);
	const usual = keptFrom(undefined, today);
	return (group) => group.date >= (longer.get(pathOf(group)) ?? usual);
}

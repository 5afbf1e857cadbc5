import { shardOfStream } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { repeatedly } from "../../../packages/service/repetition.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { DateFolder, SourceName } from "../../archive/s3/object-keys.ts";
import type { ListedObject } from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { CompactionStore } from "../compaction/record.ts";
import { ReleaseStore } from "../release/release-store.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import {
	type RetentionRecord,
	RetentionStore,
} from "../retention/source-retention.ts";
import type { LakeShard } from "../shards/lake-shard.ts";
import { type ListWriteOptions, ListWrites, lineOf } from "./list-writes.ts";
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

/** The name of the list of a date's released and imported rows. The other lists are named by their shards. */
const releasedList = "released";

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
}

/** What one look knows of a source. */
interface SourcePass {
	source: SourceName;
	/** Lengths of the lists, by key. */
	bytesOf: ReadonlyMap<string, number>;
	/** Keys of its compaction records. */
	records: ReadonlySet<string>;
	/** What this look and the one before know of their contents. */
	recorded: Map<string, ListedCompaction>;
	isKept(group: DateFolder): boolean;
	writes: ListWrites;
}

/**
 * Writes down which objects a reader of the bucket reads, so that readers need no rule: for each source and date a text with an
 * object in each line, for each shard that has events of it, and one for what was released and imported. An event is always in
 * an object of the same list, and a list is replaced by one PUT, so each event is found once at every moment, in whatever order
 * a reader reads the lists; see docs/decisions/0031-readers-of-the-bucket-follow-lists.md.
 *
 * Lists follow from what the bucket has. A look compares lengths, so it also finds what a restart, a failed write or an archive
 * that woke up late has left behind.
 */
export class Lister {
	readonly #options: ListerOptions;
	readonly #compactions: CompactionStore;
	readonly #releases: ReleaseStore;
	readonly #retentions: RetentionStore;
	readonly #dateLedgers: DateLedgers;
	/** Paths of sources whose releases were changed since a look that wrote all lists; "all" before the first one. */
	#changed: Set<string> | "all" = "all";
	/** What compaction records say of shards. A record never changes. */
	#recorded = new Map<string, ListedCompaction>();

	constructor(options: ListerOptions) {
		this.#options = options;
		const { store } = options;
		this.#compactions = new CompactionStore(store);
		this.#releases = new ReleaseStore(store);
		this.#retentions = new RetentionStore(store);
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
		const { store, tombstones, objectsDone } = this.#options;
		const writes = new ListWrites(this.#options, signal);
		const shards: ListedShard[] = [];
		for (const shard of this.#options.shards)
			await writes.attempt(`lists of shard ${shard.number}`, async () => {
				if (await shard.isCurrent(objectsDone, signal)) shards.push(shard);
			});
		// An archive that stands by leaves the lists of releases to the others, too.
		if (shards.length === 0) return 0;
		await tombstones.refresh(maxTombstonesAgeMs);
		const retentions = await this.#retentions.all();
		const isKept = keptDates(
			retentions.map(({ record }) => record),
			utcDate(nowMs),
		);
		const { keys } = store;
		const lists = new SourceCursor(store.list(keys.allLists()));
		const compactions = new SourceCursor(store.list(keys.compactions()));
		const releases = new SourceCursor(await this.#changedReleases());
		const recorded = new Map<string, ListedCompaction>();
		const indexed = shards.flatMap(({ index }) => [...index.sources()]);
		const paths = [...new Set(indexed.map(pathOf))].sort().values();
		let own = paths.next().value;
		for (;;) {
			const [path] = [own, await releases.path()]
				.filter((path) => path !== undefined)
				.sort();
			if (path === undefined) break;
			if (path === own) own = paths.next().value;
			const listed = await lists.take(path);
			const pass: SourcePass = {
				source: sourceAt(path),
				bytesOf: new Map(listed.map(({ key, bytes }) => [key, bytes])),
				// Before the objects, among which is what a record replaces.
				records: new Set((await compactions.take(path)).map(({ key }) => key)),
				recorded,
				isKept,
				writes,
			};
			const added = await releases.take(path);
			if (tombstones.has(pass.source)) continue;
			for (const shard of shards) await this.#lookAtShard(shard, pass);
			await this.#lookAtReleases(added, pass);
		}
		this.#recorded = recorded;
		const written = await writes.finish();
		if (writes.failures === 0) this.#changed = new Set();
		return written;
	}

	/** The releases of all sources at first, and later those of the sources that have new ones. */
	async #changedReleases(): Promise<AsyncIterable<ListedObject>> {
		const { store } = this.#options;
		await this.#releases.log.follow({
			learn: (source) => {
				if (this.#changed !== "all") this.#changed.add(pathOf(source));
			},
			learnAll: async () => {
				this.#changed = "all";
			},
		});
		const changed = this.#changed;
		if (changed === "all") return store.list(store.keys.allReleases());
		return (async function* () {
			for (const path of [...changed].sort())
				yield* store.list(store.keys.releasesOfSource(sourceAt(path)));
		})();
	}

	async #lookAtShard(shard: ListedShard, pass: SourcePass): Promise<void> {
		const { keys } = this.#options.store;
		const { account, sourceKey } = pass.source;
		const dates = shard.index.source(account, sourceKey)?.objects ?? [];
		await mapConcurrently([...dates], datesAtOnce, async ([date, ofDate]) => {
			const group = { account, sourceKey, date };
			if (!pass.isKept(group)) return;
			const key = keys.list(group, shard.number);
			const listedBytes = pass.bytesOf.get(key);
			const folder = keys.eventsOfDate(group);
			const expected = expectedBytes(
				ofDate,
				this.#nameIn(group),
				await this.#compactionOf(group, shard.number, pass),
				(name) => this.#lineBytes(folder + name),
			);
			if (expected === (listedBytes ?? 0)) return;
			const objects = () => this.#objectsOf(group, shard.number, [...ofDate]);
			await pass.writes.add({ key, listedBytes, objects });
		});
	}

	async #compactionOf(
		group: DateFolder,
		shard: number,
		{ records, recorded }: SourcePass,
	): Promise<ListedCompaction | undefined> {
		const record = this.#options.store.keys.compaction(group);
		if (!records.has(record)) return undefined;
		const name = `${shard} ${record}`;
		const found =
			this.#recorded.get(name) ??
			compactionOfShard(await this.#compactions.of(group), shard);
		recorded.set(name, found);
		return found;
	}

	/** @param added What is in the source's folder: records with numbers, and objects that all have names of one length. */
	async #lookAtReleases(
		added: readonly ListedObject[],
		{
			source,
			bytesOf,
			isKept,
			writes,
		}: Pick<SourcePass, "source" | "bytesOf" | "isKept" | "writes">,
	): Promise<void> {
		const { keys } = this.#options.store;
		const byDate = Map.groupBy(
			added.filter(({ key }) => key.endsWith(".json")),
			({ key }) => dateOf(key),
		);
		for (const [date, records] of byDate) {
			const group = { ...source, date };
			if (!isKept(group)) continue;
			const key = keys.list(group, releasedList);
			const listedBytes = bytesOf.get(key);
			const sample = keys.released(group, 1, "0".repeat(16));
			if (records.length * this.#lineBytes(sample) === (listedBytes ?? 0))
				continue;
			const objects = async () =>
				(await this.#releases.read({ records })).map(({ key }) => key);
			await writes.add({ key, listedBytes, objects });
		}
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
		const releases = new SourceCursor(store.list(store.keys.allReleases()));
		for (;;) {
			const path = await releases.path();
			if (path === undefined) break;
			const source = sourceAt(path);
			const added = await releases.take(path);
			if (tombstones.has(source)) continue;
			const bytesOf = new Map<string, number>();
			const listed = store.list(store.keys.listsOfSource(source));
			for await (const { key, bytes } of listed) bytesOf.set(key, bytes);
			const pass = { source, bytesOf, isKept, writes };
			await this.#lookAtReleases(added, pass);
		}
		for (const { record } of retentions) {
			if (tombstones.has(record)) continue;
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
							listedBytes: undefined,
							objects: () => this.#objectsOf(group, shard, ofShard),
						});
				});
			}
		}
		return writes.finish();
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
		return Buffer.byteLength(lineOf(this.#options.bucket, key));
	}
}

function dateOf(key: string): UtcDate {
	return /\/date=([\d-]+)\//.exec(key)?.[1] ?? "";
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

import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import { shardOfStream } from "../../../packages/contracts/nats.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import {
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { repeatedly } from "../../../packages/service/repetition.ts";
import type {
	DateObjects,
	IndexedObject,
} from "../../archive/ledger/date-objects.ts";
import {
	type IndexedSource,
	type LedgerIndex,
	nameOfSource,
} from "../../archive/ledger/ledger-index.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { AdditionStore } from "../addition/addition-store.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import {
	objectsOfShards,
	type Replacement,
	type Replacements,
} from "../objects/replacements.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { DateLedgers } from "../retention/date-ledgers.ts";
import { folderOf, listInParts } from "../retention/listing.ts";
import {
	type RetentionRecord,
	RetentionStore,
} from "../retention/source-retention.ts";
import { AddedLists } from "./added-lists.ts";
import { ListPass, type ListPassOptions } from "./list-pass.ts";

const firstLookMs = 10_000;
const maxTombstonesAgeMs = 60_000;
const sourcesAtOnce = 8;
const datesAtOnce = 2;
/** Of an hour. Each takes two requests. */
const mostRetentionsListed = 1_000;

/** What the lists need of a shard. */
export interface ListedShard {
	readonly number: number;
	readonly index: LedgerIndex;
	/** While another archive is at work, that one writes the lists. */
	isCurrent: LakeShard["isCurrent"];
}

export interface ListerOptions extends ListPassOptions {
	shards: readonly ListedShard[];
	/** The average time between two looks; 0 for no lists. */
	intervalMs: number;
	/** The stream's sequence through which all objects are in the store. */
	objectsDone: (stream: string) => Promise<number>;
	tombstones: Tombstones;
	replaced: Pick<Replacements, "of">;
	/** Those through which this process changes a source's retention: others' changes are found when all lists are compared. */
	retentions?: RetentionStore;
	metrics: ListPassOptions["metrics"] & Pick<ArchiveMetrics, "tellWork">;
}

/**
 * Writes down which objects a reader of the bucket reads, so that readers need no rule: for each source and date a text with an
 * object in each line, for each shard that has events of it, and one for what was released and imported. An event is always in
 * an object of the same list, and a list is replaced by one PUT, so each event is found once at every moment, in whatever order
 * a reader reads the lists; see docs/decisions/0031-readers-of-the-bucket-follow-lists.md.
 *
 * A look writes the lists whose dates have changed in the ledger. It compares the length of each list with the bucket's when this
 * archive begins its work on a shard, and once a day: so it finds what a crash, an earlier version or an archive that woke up late
 * has left behind.
 */
export class Lister {
	readonly #options: ListerOptions;
	readonly #added: AddedLists;
	readonly #retentions: RetentionStore;
	readonly #dateLedgers: DateLedgers;
	readonly #acceptedLosses: AcceptedLosses;
	/** How many records of losses dates had when their lists were right, by the folders of these. */
	#losses: ReadonlyMap<string, number> = new Map();
	/** The shards that this archive was at work on in the last look. */
	#current = new Set<number>();
	#comparedMs = -Infinity;
	/** How many objects a date had when its list was right. The ledger makes it anew when objects are lost or replaced. */
	#listed = new WeakMap<DateObjects, number>();

	constructor(options: ListerOptions) {
		this.#options = options;
		const { store } = options;
		this.#added = new AddedLists({
			...options,
			added: new AdditionStore(store),
			name: "released",
		});
		this.#retentions = options.retentions ?? new RetentionStore(store);
		this.#dateLedgers = new DateLedgers(store);
		this.#acceptedLosses = new AcceptedLosses(store);
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
		await repeatedly("the look after lists", look, {
			intervalMs,
			firstMs,
			jitter: 0.1,
			log,
			signal,
			tell: (isFailing) => {
				if (isFailing) metrics.tellWork("lists", true);
			},
		});
	}

	/** Writes the lists that aren't as they should be, as far as this archive knows. Returns how many. */
	async look(nowMs: number, signal: AbortSignal): Promise<number> {
		const { tombstones, objectsDone, metrics } = this.#options;
		const pass = new ListPass(this.#options, signal);
		const shards: ListedShard[] = [];
		for (const shard of this.#options.shards)
			await pass.attempt(`lists of shard ${shard.number}`, async () => {
				if (await shard.isCurrent(objectsDone, signal)) shards.push(shard);
			});
		const numbers = new Set(shards.map(({ number }) => number));
		// A clock may be set back.
		const isWhole =
			Math.abs(nowMs - this.#comparedMs) >= dayMs ||
			!numbers.isSubsetOf(this.#current);
		if (shards.length > 0) {
			await tombstones.refresh(maxTombstonesAgeMs);
			pass.keep(await this.#retentions.all({ isAnew: isWhole }), nowMs);
		}
		this.#current = numbers;
		// An archive that stands by leaves the lists of what was added to the others, too.
		if (shards.length === 0) {
			metrics.tellWork("lists", pass.failures > 0);
			return 0;
		}
		const losses = await this.#acceptedLosses.folders();
		const hasNewLosses = [...losses].some(
			([folder, records]) => this.#losses.get(folder) !== records,
		);
		this.#losses = losses;
		pass.leaveOut(losses);
		if (isWhole || hasNewLosses) {
			this.#comparedMs = nowMs;
			this.#listed = new WeakMap();
			this.#added.forget();
		}
		for (const shard of shards)
			await mapConcurrently(
				[...shard.index.sources()],
				sourcesAtOnce,
				(source) =>
					pass.attempt(`lists of ${nameOfSource(source)}`, () =>
						this.#lookAt(source, shard.number, pass),
					),
			);
		await this.#added.look(pass);
		metrics.tellWork("lists", pass.failures > 0);
		return pass.written;
	}

	/** Writes a source's lists whose dates have changed. Of those it doesn't know, it compares the bucket's. */
	async #lookAt(
		{ account, sourceKey, objects }: IndexedSource,
		shard: number,
		pass: ListPass,
	): Promise<void> {
		const { keys } = this.#options.store;
		const source = { account, sourceKey };
		if (this.#options.tombstones.has(source)) return;
		const changed: [UtcDate, DateObjects][] = [];
		for (const [date, ofDate] of objects)
			if (!pass.isKept({ ...source, date })) this.#listed.delete(ofDate);
			else if (this.#listed.get(ofDate) !== ofDate.count)
				changed.push([date, ofDate]);
		const [from] = changed
			.filter(([, ofDate]) => !this.#listed.has(ofDate))
			.map(([date]) => date)
			.sort();
		const bytesOf =
			from === undefined ? undefined : await pass.bytesOf(source, from);
		await mapConcurrently(changed, datesAtOnce, async ([date, ofDate]) => {
			const group = { ...source, date };
			const key = keys.list(group, shard);
			const isKnown = this.#listed.has(ofDate);
			await pass.attempt(key, async () => {
				const { count } = ofDate;
				const listed = await this.#objectsOf(group, shard, [...ofDate]);
				const listedBytes = isKnown ? undefined : (bytesOf?.get(key) ?? 0);
				await pass.write(key, listed, listedBytes);
				this.#listed.set(ofDate, count);
			});
		});
	}

	/**
	 * Writes the lists of dates that indexes don't hold any more, where they are missing: an archive that wrote no lists has left
	 * them out. Returns how many.
	 */
	async lookBack(nowMs: number, signal: AbortSignal): Promise<number> {
		const { intervalMs, store, tombstones } = this.#options;
		if (intervalMs === 0) return 0;
		const retentions = await this.#retentions.all();
		const pass = new ListPass(this.#options, signal);
		pass.keep(retentions, nowMs);
		const usual = keptFrom(undefined, utcDate(nowMs));
		await listInParts(store, "older-lists", [store.keys.allRetentions()], {
			mostListed: mostRetentionsListed,
			work: async (some) => {
				const paths = new Set<string>();
				for await (const { key } of some) paths.add(folderOf(key));
				for (const { record } of retentions) {
					const isIn = paths.has(store.keys.retentionsOfSource(record));
					if (isIn && !tombstones.has(record))
						await this.#lookBackAt(record, usual, pass);
				}
			},
		});
		return pass.written;
	}

	/** @param before the first date that indexes hold. */
	async #lookBackAt(
		{ account, sourceKey }: RetentionRecord,
		before: UtcDate,
		pass: ListPass,
	): Promise<void> {
		const { keys } = this.#options.store;
		const source = { account, sourceKey };
		const listed = new Set<string>();
		for (const key of (await pass.bytesOf(source, "")).keys())
			if (/\/\d+\.txt$/.test(key)) listed.add(folderOf(key));
		for (const date of await this.#dateLedgers.datesOf(source)) {
			const group = { ...source, date };
			const key = keys.list(group, "*");
			if (date >= before || !pass.isKept(group) || listed.has(folderOf(key)))
				continue;
			await pass.attempt(key, async () => {
				const ledger = await this.#dateLedgers.require(group);
				const shards = Map.groupBy(
					ledger.objects() ?? [],
					({ stream }) => shardOfStream(stream) ?? 0,
				);
				for (const [shard, ofShard] of shards)
					await pass.write(
						keys.list(group, shard),
						await this.#objectsOf(group, shard, ofShard),
						0,
					);
			});
		}
	}

	/** Keys. The objects are known before the record is read, which names all that was replaced of them. */
	async #objectsOf(
		group: DateFolder,
		shard: number,
		objects: readonly IndexedObject[],
	): Promise<string[]> {
		const { keys } = this.#options.store;
		const folder = keys.eventsOfDate(group);
		const nameOf = ({ stream, first }: IndexedObject) =>
			keys.events(group, stream, first).slice(folder.length);
		const record = await this.#options.replaced.of(group);
		const names = namesInList(shard, objects, nameOf, record);
		const listed = names.map((name) => folder + name);
		return this.#losses.has(keys.acceptedLossesOfDate(group))
			? this.#acceptedLosses.without(group, folder, listed)
			: listed;
	}
}

/** The names of the objects with the events that a shard has of a date, each once: what replaces others, and what isn't replaced. */
export function namesInList(
	shard: number,
	objects: readonly IndexedObject[],
	nameOf: (object: IndexedObject) => string,
	record: Replacement | undefined,
): string[] {
	const isOwn = (name: string) => shardOfStream(name) === shard;
	return objectsOfShards(isOwn, objects, nameOf, record).map(
		({ name }) => name,
	);
}

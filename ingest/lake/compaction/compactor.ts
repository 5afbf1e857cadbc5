import { setTimeout as delay } from "node:timers/promises";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { closedThrough } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { repeatedly } from "../../../packages/service/repetition.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { kindOf, ofKind } from "../../wire/object-kinds.ts";
import { ParquetRewriter, type Rewriter } from "../objects/parquet-rewriter.ts";
import { DateCompaction } from "./date-compaction.ts";
import { type DueDate, dueDates } from "./due-dates.ts";
import { CompactionMetrics } from "./metrics.ts";
import {
	type CompactionRecord,
	CompactionStore,
	supersededNames,
} from "./record.ts";
import { forgetAllReplaced, forgetReplaced } from "./replaced-objects.ts";
import { ShardRecords } from "./shard-records.ts";

const idlePollMs = 1_000;
const maxTombstonesAgeMs = 60_000;
const maxBackoffMs = 24 * 3_600_000;

/** What compaction needs of a shard. */
export interface CompactedShard {
	readonly number: number;
	readonly index: LedgerIndex;
	/** Whether this process does the work now. */
	readonly isArchiving: boolean;
	/** Age of the oldest frame that was read and isn't archived; 0 while nobody reads, as in an alarm. */
	readonly lagSeconds: number;
}

export interface CompactorOptions {
	store: Store;
	shards: readonly CompactedShard[];
	/** How many objects a date must have to be compacted; 0 turns compaction off. */
	minObjects: number;
	/** The average time between two looks for due dates. A date waits twice as long after its first failure. */
	intervalMs: number;
	/** A shard with a higher lag is behind, and compaction waits for it. */
	maxLagSeconds: number;
	scratch: string;
	/** Another one is for a simulation. */
	openRewriter?: (scratch: string, signal: AbortSignal) => Promise<Rewriter>;
	tombstones: Tombstones;
	metrics: Pick<ArchiveMetrics, "counter" | "tellWork">;
	log: Logger;
}

/**
 * Rewrites closed dates into few objects, and removes the replaced objects once nobody can be reading them. All that it
 * knows comes from the bucket; see docs/decisions/0005-each-event-in-exactly-one-object.md.
 */
export class Compactor {
	readonly #options: CompactorOptions;
	readonly #metrics: CompactionMetrics;
	readonly #records: CompactionStore;
	/** Of those that this archive is at work on, by their numbers. */
	readonly #ofShards = new Map<number, ShardRecords>();
	/** Dates that failed, by the key of their record, so that they don't keep archive busy. */
	readonly #failed = new Map<string, { times: number; againMs: number }>();

	constructor(options: CompactorOptions) {
		this.#options = options;
		this.#metrics = new CompactionMetrics(options.metrics);
		this.#records = new CompactionStore(options.store);
	}

	/** Looks for due dates until the signal fires. A later look repeats what failed. */
	async run(signal: AbortSignal): Promise<void> {
		const { intervalMs, metrics, log } = this.#options;
		const look = () => this.look(Date.now(), signal);
		await repeatedly("compaction", look, {
			intervalMs,
			firstMs: (0.5 + Math.random()) * intervalMs,
			jitter: 0.5,
			log,
			signal,
			tell: (isFailing) => {
				if (isFailing) metrics.tellWork("compaction", true);
			},
		});
	}

	/**
	 * Removes superseded objects, then compacts the due dates one after the other: of the shards that this archive is at work on, since
	 * what stands by would do the same.
	 */
	async look(nowMs: number, signal: AbortSignal): Promise<void> {
		const { shards, minObjects, metrics } = this.#options;
		const dueKeys = new Set<string>();
		for (const shard of shards) {
			const { number, isArchiving, index } = shard;
			// Another archive compacts it now. This one learns what that has done when it is at work again.
			if (!isArchiving) this.#ofShards.delete(number);
			if (!isArchiving) continue;
			const records = this.#recordsOf(shard);
			await records.look(nowMs);
			await forgetAllReplaced(shard, {
				hasRecord: (key) => records.has(key),
				records: this.#records,
				keys: this.#options.store.keys,
				log: this.#options.log,
			});
			if (minObjects === 0) continue;
			const { archivedThrough } = index;
			if (archivedThrough === undefined) continue;
			const due = dueDates(
				index.sources(),
				// A date that NATS's clock closes too early would stay in many objects for good.
				closedThrough(Math.min(Date.parse(archivedThrough), nowMs)),
				minObjects,
				(date) => records.has(this.#options.store.keys.compaction(date)),
			);
			for (const date of due) {
				const key = this.#options.store.keys.compaction(date);
				dueKeys.add(key);
				const waitMs = (this.#failed.get(key)?.againMs ?? 0) - nowMs;
				// Longer if this process's clock was ahead.
				if (waitMs > 0 && waitMs <= maxBackoffMs) continue;
				if (await this.#tryCompact(number, date, nowMs, signal))
					records.add(key);
			}
		}
		// Of a Source that was deleted, or of a shard that another archive has now.
		for (const key of this.#failed.keys())
			if (!dueKeys.has(key)) this.#failed.delete(key);
		metrics.tellWork("compaction", this.#failed.size > 0);
	}

	#recordsOf(shard: CompactedShard): ShardRecords {
		const known = this.#ofShards.get(shard.number);
		if (known) return known;
		const { store, log } = this.#options;
		const check = (key: string) =>
			this.#removeSuperseded(key).catch((error) => {
				log.warn(
					{ err: error, key },
					"could not remove superseded objects; trying again",
				);
				return false;
			});
		const records = new ShardRecords({ store, shard, check });
		this.#ofShards.set(shard.number, records);
		return records;
	}

	/** Whether the date has a record. */
	async #tryCompact(
		shard: number,
		due: DueDate,
		nowMs: number,
		signal: AbortSignal,
	): Promise<boolean> {
		const { store, intervalMs, log } = this.#options;
		const metrics = this.#metrics;
		const { account, sourceKey, date } = due;
		const key = store.keys.compaction(due);
		try {
			// Another archive may have been at work for a while.
			if (!(await this.#records.of(due)))
				await this.compact(shard, due, signal);
			this.#failed.delete(key);
			return true;
		} catch (error) {
			if (signal.aborted) throw error;
			const times = (this.#failed.get(key)?.times ?? 0) + 1;
			const waitMs = Math.min(maxBackoffMs, intervalMs * 2 ** times);
			this.#failed.set(key, { times, againMs: nowMs + waitMs });
			metrics.failures.inc({ shard });
			const folder = ofKind({ account, sourceKey, date }, kindOf(due));
			log.warn(
				{ err: error, shard, ...folder, waitMs },
				"could not compact a date; it stays as it is until the next try",
			);
			return false;
		}
	}

	async compact(
		shard: number,
		due: DueDate,
		signal: AbortSignal,
	): Promise<CompactionRecord> {
		const { store, shards, scratch, log } = this.#options;
		const metrics = this.#metrics;
		const { openRewriter = ParquetRewriter.open } = this.#options;
		const rewriter = await openRewriter(scratch, signal);
		const idle = () => this.#idle(due, signal);
		const work = new DateCompaction({ store, rewriter, idle }, due);
		let made: CompactionRecord | undefined;
		let record: CompactionRecord | undefined;
		try {
			made = await work.run();
			record = await this.#records.decide(made);
			const { version: _, outputs, ...folder } = record;
			const replaced = outputs.flatMap(({ inputs }) => inputs).length;
			const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
			metrics.compactions.inc({ shard });
			metrics.compactedObjects.inc({ shard }, replaced);
			metrics.outputs.inc({ shard }, outputs.length);
			metrics.bytes.inc({ shard }, bytes);
			log.info(
				{ shard, ...folder, replaced, outputs: outputs.length, bytes },
				"compacted a date",
			);
			const indexed = shards.find(({ number }) => number === shard);
			if (indexed) await forgetReplaced(indexed, record);
			return record;
		} finally {
			if (!made || record !== made)
				await this.#removeUnnamed(due, work.written);
			await rewriter.close();
		}
	}

	/**
	 * Settles when no shard is behind, since cutting comes first. A shard that has stopped needs nothing, and must not stop
	 * the others' compaction. Throws if the source is deleted.
	 */
	async #idle(due: DueDate, signal: AbortSignal): Promise<void> {
		const { shards, maxLagSeconds, tombstones } = this.#options;
		const isBehind = () =>
			shards.some(({ lagSeconds }) => lagSeconds > maxLagSeconds);
		while (isBehind()) await delay(idlePollMs, undefined, { signal });
		signal.throwIfAborted();
		await tombstones.refresh(maxTombstonesAgeMs);
		if (tombstones.has(due))
			throw new Error(`Source ${due.sourceKey} of ${due.account} is deleted`);
	}

	/**
	 * Removes what a compaction has written, if the date's record is another's and doesn't name it. Nobody looks for it later: a
	 * compactor may wake long after the record was checked.
	 */
	async #removeUnnamed(due: DueDate, written: readonly string[]) {
		const { store, log } = this.#options;
		if (written.length === 0) return;
		try {
			const record = await this.#records.of(due);
			if (!record) return;
			const folder = store.keys.eventsOfDate(due);
			const named = new Set(record.outputs.map(({ name }) => folder + name));
			await store.remove(written.filter((key) => !named.has(key)));
		} catch (error) {
			log.warn({ err: error }, "could not remove what a compaction wrote");
		}
	}

	/** Whether nothing was left to remove. */
	async #removeSuperseded(key: string): Promise<boolean> {
		const { store, log } = this.#options;
		const record = await this.#records.read(key);
		if (!record) return true;
		const folder = store.keys.eventsOfDate(record);
		const names: string[] = [];
		for await (const object of store.list(folder))
			names.push(object.key.slice(folder.length));
		const superseded = supersededNames(names, record);
		await store.remove(superseded.map((name) => folder + name));
		if (superseded.length === 0) return true;
		const { version: _, outputs: __, ...of } = record;
		this.#metrics.supersededObjects.inc(superseded.length);
		log.info(
			{ ...of, removed: superseded.length },
			"removed superseded objects",
		);
		return true;
	}
}

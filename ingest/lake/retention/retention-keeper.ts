import type { LifecycleRule } from "@aws-sdk/client-s3";
import type { RetentionState } from "../../../packages/contracts/ledger.ts";
import {
	forever,
	isLonger,
	retainedDays,
	type SourceRetention,
} from "../../../packages/contracts/retention.ts";
import { keptUploadDays } from "../../../packages/contracts/transfer.ts";
import { utcDate } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { pause } from "../../../packages/service/pause.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import type {
	LifecycleStore,
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import { RequestFailure } from "../request/errors.ts";
import type { LakeShard } from "../shards/lake-shard.ts";
import { DateLedgers } from "./date-ledgers.ts";
import { blockingRule, withRetentionRules } from "./lifecycle-rule.ts";
import {
	expiredCuts,
	hasBeenFor,
	isAged,
	isExpired,
	isOverdue,
	type TimeWitnesses,
} from "./retention.ts";
import {
	type KeptRecord,
	loweredRecord,
	RetentionStore,
	retentionOf,
} from "./source-retention.ts";

const intervalMs = 3_600_000;
/** Bounds the keys in memory. */
const chosenAtOnce = 1_000;
/** An older multipart upload was left by a killed process. */
const abandonedMs = 24 * 3_600_000;

/** Who removes expired events: the store, by a rule of the bucket, or archive. */
export type RetentionEnforcer = "lifecycle" | "sweep";

/** Enforces retention, independently of the shards. */
export class RetentionKeeper {
	readonly #options: RetentionKeeperOptions;

	constructor(options: RetentionKeeperOptions) {
		this.#options = options;
	}

	/** Runs once an hour until the signal fires. After a failure, the next hour tries again. */
	async run(signal: AbortSignal): Promise<void> {
		const { log } = this.#options;
		while (!signal.aborted) {
			try {
				await this.keep(Date.now());
			} catch (error) {
				if (!signal.aborted)
					log.warn({ err: error }, "retention failed; trying again in an hour");
			}
			await pause(intervalMs, signal);
		}
	}

	/**
	 * Puts the store's rules in place, removes events that the store doesn't remove, and removes old cut records and manifests.
	 * Returns who removes events.
	 */
	async keep(nowMs: number): Promise<RetentionEnforcer> {
		const { log, metrics, store, shards = [] } = this.#options;
		const witnesses = await this.#witnesses(nowMs);
		const kept = await this.#lowered(witnesses);
		const daysOf = daysBySource(kept);
		const longest = longestOf(kept);
		const { enforcedBy, problemOf } = await this.setRules(kept);
		metrics.retention.reset();
		metrics.retention.set({ enforced_by: enforcedBy }, 1);
		await this.#options.publish?.(
			{
				version: 1,
				days: retainedDays,
				enforcedBy: enforcedBy === "lifecycle" ? "Lifecycle" : "Sweep",
			},
			kept.map((one) => {
				const problem = problemOf(one.record.days);
				if (!problem) return retentionOf(one);
				log.error({ err: problem }, "the bucket's rules take events too early");
				return { ...retentionOf(one), problem: problem.message };
			}),
		);
		const ledgers = new DateLedgers(store);
		const earliestNowMs = Math.min(nowMs, witnesses.storeNowMs);
		for (const shard of shards)
			await ledgers.keep(shard.index, {
				shard: shard.number,
				nowMs: earliestNowMs,
				drainedAt: await shard.drainedAt(),
				staysLonger: (source) => isLonger(daysOf(pathOf(source)), retainedDays),
			});
		let removed = 0;
		const remove = async (objects: ListedObject[]) => {
			await store.remove(objects.map(({ key }) => key));
			removed += objects.length;
		};
		// A day before the objects: whoever has read a list still finds them.
		await this.#each(
			store.keys.allLists(),
			(o) => isOverdue(o.key, witnesses, daysOf(o.key)),
			remove,
		);
		const expired = (o: ListedObject) => isExpired(o, witnesses, daysOf(o.key));
		if (enforcedBy === "sweep")
			for (const prefix of this.#expiring)
				await this.#each(prefix, expired, remove);
		await this.#each(store.keys.allDates(), expired, remove);
		for (const prefix of [store.keys.allUploads(), store.keys.allImports()])
			await this.#each(
				prefix,
				(o) => hasBeenFor(keptUploadDays, o.modifiedMs, witnesses),
				remove,
			);
		await this.#each(store.keys.allRuns(), (o) => isAged(o, witnesses), remove);
		// A record is written after the objects that it names, so it expires no earlier.
		await this.#each(
			store.keys.compactions(),
			(o) => isAged(o, witnesses, daysOf(o.key)),
			remove,
		);
		for (const records of await this.#cutsByStream())
			await remove(expiredCuts(records, witnesses));
		// As many days as any object's age is counted by.
		await this.#each(
			store.keys.allLosses(),
			(o) => isAged(o, witnesses, longest),
			remove,
		);
		await this.#each(
			store.keys.days(),
			(o) => isAged(o, witnesses, longest),
			remove,
		);
		for (const prefix of this.#expiring)
			await store.abortUploads(prefix, earliestNowMs - abandonedMs);
		log.info({ enforcedBy, removed, longest }, "enforced retention");
		return enforcedBy;
	}

	/**
	 * Sets the store's rules to the longest retention. Archive removes events itself where the store has no rules, archive may not
	 * change them, or some source's events stay longer than others'. `problemOf` says why the store won't keep events so long.
	 */
	async setRules(kept: readonly KeptRecord[]): Promise<{
		enforcedBy: RetentionEnforcer;
		problemOf(days: number): RequestFailure | undefined;
	}> {
		const longest = longestOf(kept);
		const { store, log } = this.#options;
		const rules = await store.lifecycleRules();
		if (!rules) return { enforcedBy: "sweep", problemOf: () => undefined };
		if (rules === "forbidden")
			return {
				enforcedBy: "sweep",
				problemOf: (days) => (days === retainedDays ? undefined : unread(days)),
			};
		const changed = withRetentionRules(rules, this.#expiring, longest);
		const isWritten = !changed || (await store.setLifecycleRules(changed));
		if (changed && isWritten)
			log.info({ longest }, "set the retention rules of the bucket");
		const left = changed && isWritten ? changed : rules;
		const isEnough = isWritten && longest === retainedDays;
		return {
			enforcedBy: isEnough ? "lifecycle" : "sweep",
			problemOf: (days) => {
				if (days === retainedDays) return undefined;
				const rule = blockingRule(left, this.#expiring, days);
				return rule && blocked(rule, days);
			},
		};
	}

	/** The newest records, after those whose reprieve is over were lowered. */
	async #lowered(witnesses: TimeWitnesses): Promise<KeptRecord[]> {
		const { store, log } = this.#options;
		const retentions = new RetentionStore(store);
		const kept = await retentions.all();
		let isChanged = false;
		for (const one of kept) {
			const record = loweredRecord(one, witnesses);
			if (!record) continue;
			// If another record came first, that one counts.
			await retentions.write(one.number + 1, record);
			log.info(record, "a source's events stay for fewer days from now on");
			isChanged = true;
		}
		return isChanged ? retentions.all() : kept;
	}

	/** What holds events. */
	get #expiring(): string[] {
		const { store } = this.#options;
		return [
			store.keys.allEvents(),
			store.keys.allQuarantined(),
			store.keys.allReleases(),
		];
	}

	/** Notes today in the store, which reveals the store's clock, and reads which days were noted before. */
	async #witnesses(nowMs: number): Promise<TimeWitnesses> {
		const { store } = this.#options;
		await store.putNew(
			store.keys.day(utcDate(nowMs)),
			"Archive was at work on this day.\n",
			"text/plain",
		);
		const notes: ListedObject[] = [];
		for await (const note of store.list(store.keys.days())) notes.push(note);
		return {
			nowMs,
			// The newest note may be from this morning. A late clock only keeps objects longer.
			storeNowMs: Math.max(...notes.map(({ modifiedMs }) => modifiedMs)),
			// The store's clock must agree: archive's clock may have jumped when it wrote the note.
			daysSeen: notes
				.filter(
					({ key, modifiedMs }) => key === store.keys.day(utcDate(modifiedMs)),
				)
				.map(({ modifiedMs }) => utcDate(modifiedMs)),
		};
	}

	async #each(
		prefix: string,
		isChosen: (object: ListedObject) => boolean,
		act: (objects: ListedObject[]) => Promise<void>,
	): Promise<void> {
		let chosen: ListedObject[] = [];
		for await (const object of this.#options.store.list(prefix)) {
			if (isChosen(object)) chosen.push(object);
			if (chosen.length < chosenAtOnce) continue;
			await act(chosen);
			chosen = [];
		}
		await act(chosen);
	}

	async #cutsByStream(): Promise<ListedObject[][]> {
		const { store } = this.#options;
		const streams = new Map<string, ListedObject[]>();
		for await (const record of store.list(store.keys.allCuts())) {
			const stream = record.key.slice(0, record.key.lastIndexOf("/"));
			const records = streams.get(stream);
			if (records) records.push(record);
			else streams.set(stream, [record]);
		}
		return [...streams.values()];
	}
}

function longestOf(kept: readonly KeptRecord[]): number {
	return kept.reduce(
		(longest, { record: { days } }) =>
			isLonger(days, longest) ? days : longest,
		retainedDays,
	);
}

function blocked({ ID = "" }: LifecycleRule, days: number): RequestFailure {
	return new RequestFailure(
		"RetentionBlocked",
		`A lifecycle rule of the bucket removes or archives events${before(days)}`,
		{ internals: `lifecycle rule "${ID}"` },
	);
}

function unread(days: number): RequestFailure {
	return new RequestFailure(
		"RetentionUnsure",
		`Archive may not read the bucket's lifecycle rules, and one may remove or archive events${before(days)}`,
	);
}

function before(days: number): string {
	return days === forever ? "" : ` before ${days} days are over`;
}

function pathOf({ account, sourceKey }: SourceName): string {
	return `/account=${account}/source=${sourceKey}/`;
}

/** How long the events stay of the source whose object has the key. */
function daysBySource(kept: readonly KeptRecord[]) {
	const days = new Map(
		kept.map(({ record }) => [pathOf(record), record.days] as const),
	);
	return (key: string): number =>
		days.get(/\/account=[^/]+\/source=[^/]+\//.exec(key)?.[0] ?? "") ??
		retainedDays;
}

export interface RetentionKeeperOptions {
	/** Publishes what holds, in general and for the sources that say. */
	publish?: (
		retention: RetentionState,
		sources: SourceRetention[],
	) => Promise<void>;
	/** Of this process. */
	shards?: readonly Pick<LakeShard, "number" | "index" | "drainedAt">[];
	store: ObjectStore & LifecycleStore;
	metrics: ArchiveMetrics;
	log: Logger;
}

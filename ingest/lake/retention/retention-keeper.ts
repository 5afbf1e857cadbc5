import type { LifecycleRule } from "@aws-sdk/client-s3";
import {
	type SourceFolder,
	sourcePath,
} from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
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
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import { loggedDays } from "../../archive/write/numbered-log.ts";
import { RequestFailure } from "../request/errors.ts";
import type { LakeShard } from "../request/lake-shard.ts";
import { DateLedgers } from "./date-ledgers.ts";
import { blockingRule, withRetentionRules } from "./lifecycle-rule.ts";
import { datesFolderOf, folderOf, fromOldest, listInParts } from "./listing.ts";
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
import type { Turns } from "./turns.ts";

/** A thousand requests, and as many seconds or fewer: in a day, what five million Runs leave. */
const mostListedOfRun = 1_000_000;
/** Bounds the keys in memory. */
const chosenAtOnce = 1_000;
/** An older multipart upload was left by a killed process. */
const abandonedMs = 24 * 3_600_000;

/** An hour's work. */
interface RetentionRound {
	witnesses: TimeWitnesses;
	enforcedBy: RetentionEnforcer;
	/** How long the events stay of the source whose object has the key. */
	daysOf: (key: string) => number;
	longest: number;
	/** Objects so far. */
	removed: number;
}

/** Who removes expired events: the store, by a rule of the bucket, or archive. */
export type RetentionEnforcer = "lifecycle" | "sweep";

/** Enforces retention. */
export class RetentionKeeper {
	readonly #options: RetentionKeeperOptions;
	readonly retentions: RetentionStore;

	constructor(options: RetentionKeeperOptions) {
		this.#options = options;
		this.retentions = new RetentionStore(options.store);
	}

	/** Does an hour's work, and that on the whole bucket if it is this archive's turn. */
	async keepInTurn(nowMs: number): Promise<void> {
		const { turns } = this.#options;
		await this.keep(nowMs, await turns?.take("retention", nowMs));
	}

	/**
	 * Puts the store's rules in place, and removes old cut records of own shards; and in the whole bucket, events that the store
	 * doesn't remove, and old manifests and records. Returns who removes events.
	 */
	async keep(nowMs: number, hasTurn = true): Promise<RetentionEnforcer> {
		const { log, metrics } = this.#options;
		const witnesses = await this.#witnesses(nowMs);
		const kept = await this.#lowered(witnesses);
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
				log.error({ err: problem }, "the bucket's rules take events too soon");
				return { ...retentionOf(one), problem: problem.message };
			}),
		);
		const round: RetentionRound = {
			witnesses,
			enforcedBy,
			daysOf: daysBySource(kept),
			longest: longestOf(kept),
			removed: 0,
		};
		await this.#keepShards(round);
		if (hasTurn) await this.#keepBucket(round);
		const { removed, longest } = round;
		log.info({ enforcedBy, removed, longest, hasTurn }, "enforced retention");
		return enforcedBy;
	}

	/**
	 * Writes the ledgers of dates, and then removes the cut records of which they were made. Only of shards that this archive is at
	 * work on: those that Sources have moved from and that are drained, too, and of one that no archive has any more the
	 * records stay, so that nothing is lost if it comes back.
	 */
	async #keepShards(round: RetentionRound): Promise<void> {
		const { store, shards = [] } = this.#options;
		const { witnesses, daysOf, longest } = round;
		const ledgers = new DateLedgers(store);
		for (const shard of shards) {
			if (!shard.isArchiving) continue;
			await ledgers.keep(shard.index, {
				shard: shard.number,
				nowMs: Math.min(witnesses.nowMs, witnesses.storeNowMs),
				drainedAt: await shard.drainedAt(),
				staysLonger: (source) =>
					isLonger(daysOf(`/${sourcePath(source)}`), retainedDays),
			});
			const staysFor = (days: number) => (object: ListedObject) =>
				!isAged(object, witnesses, days);
			const cuts = fromOldest(
				store,
				store.keys.cutsOfShard(shard.number),
				folderOf,
				staysFor(retainedDays),
			);
			await this.#remove(expiredCuts(cuts, witnesses), () => true, round);
			// As many days as any object's age is counted by.
			const losses = fromOldest(
				store,
				store.keys.lossesOfShard(shard.number),
				folderOf,
				staysFor(longest),
			);
			await this.#remove(losses, (o) => isAged(o, witnesses, longest), round);
		}
	}

	async #keepBucket(round: RetentionRound): Promise<void> {
		const { store } = this.#options;
		const { keys } = store;
		const { witnesses, daysOf, enforcedBy, longest } = round;
		const isDateOver = (o: ListedObject) =>
			isOverdue(o.key, witnesses, daysOf(o.key));
		const isOver = (stays: SourceFolder["stays"], o: ListedObject) => {
			if (typeof stays === "number")
				return hasBeenFor(stays, o.modifiedMs, witnesses);
			// A day before the objects: whoever has read a list still finds them.
			if (stays === "WhileLoaded") return isDateOver(o);
			return stays === "AsRecords"
				? isAged(o, witnesses, daysOf(o.key))
				: isExpired(o, witnesses, daysOf(o.key));
		};
		for (const { prefix, stays } of keys.sourceFolders()) {
			const isStores = stays === "AsEvents" && enforcedBy === "lifecycle";
			if (stays === undefined || isStores) continue;
			const mayStay = (o: ListedObject) =>
				!(typeof stays === "number" ? isOver(stays, o) : isDateOver(o));
			const some = fromOldest(store, prefix, datesFolderOf, mayStay);
			await this.#remove(some, (o) => isOver(stays, o), round);
		}
		await this.#removeSome(round);
		for (const log of [keys.deletions(), keys.additions()])
			await this.#remove(
				expiredCuts(store.list(log), witnesses, loggedDays),
				() => true,
				round,
			);
		const days = store.list(keys.days());
		await this.#remove(days, (o) => isAged(o, witnesses, longest), round);
		const beforeMs =
			Math.min(witnesses.nowMs, witnesses.storeNowMs) - abandonedMs;
		for (const prefix of this.#expiring)
			await store.abortUploads(prefix, beforeMs);
	}

	/** Of what sorts by no time, a part each hour: the next turn goes on from there, whoever has it. */
	async #removeSome(round: RetentionRound): Promise<void> {
		const { store, mostListed = mostListedOfRun } = this.#options;
		const { witnesses } = round;
		const isOld = (o: ListedObject) => isAged(o, witnesses);
		const isUnused = (o: ListedObject) =>
			hasBeenFor(keptUploadDays, o.modifiedMs, witnesses);
		const parts = [
			[store.keys.allUploads(), isUnused],
			[store.keys.allImports(), isUnused],
			[store.keys.allRuns(), isOld],
		] as const;
		const chosenIn = new Map<string, (object: ListedObject) => boolean>(parts);
		await listInParts(store, "retention", [...chosenIn.keys()], {
			mostListed,
			work: (some, prefix) => this.#remove(some, chosenIn.get(prefix)!, round),
		});
	}

	/** Memory holds one page of keys. */
	async #remove(
		objects: AsyncIterable<ListedObject>,
		isChosen: (object: ListedObject) => boolean,
		round: RetentionRound,
	): Promise<void> {
		const { store } = this.#options;
		let chosen: string[] = [];
		const remove = async () => {
			await store.remove(chosen);
			round.removed += chosen.length;
			chosen = [];
		};
		for await (const object of objects) {
			if (isChosen(object)) chosen.push(object.key);
			if (chosen.length >= chosenAtOnce) await remove();
		}
		if (chosen.length > 0) await remove();
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
		const { log } = this.#options;
		const retentions = this.retentions;
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
		return this.#options.store.keys
			.sourceFolders()
			.filter(({ stays }) => stays === "AsEvents")
			.map(({ prefix }) => prefix);
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

/** How long the events stay of the source whose object has the key. */
function daysBySource(kept: readonly KeptRecord[]) {
	const days = new Map<string, number>(
		kept.map(({ record }) => [`/${sourcePath(record)}`, record.days] as const),
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
	shards?: readonly Pick<
		LakeShard,
		"number" | "index" | "drainedAt" | "isArchiving"
	>[];
	/** Without it, no turn is this archive's. */
	turns?: Turns;
	/** How many objects of a kind without an order one turn looks at. */
	mostListed?: number;
	store: Store;
	metrics: ArchiveMetrics;
	log: Logger;
}

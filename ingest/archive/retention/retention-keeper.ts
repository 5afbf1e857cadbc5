import type { RetentionState } from "../../../contracts/ledger.ts";
import { utcDate } from "../../../contracts/utc-date.ts";
import type { Logger } from "../../../service/log.ts";
import { pause } from "../../../service/pause.ts";
import type { ArchiveMetrics } from "../metrics/archive-metrics.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type {
	LifecycleStore,
	ListedObject,
	ObjectStore,
} from "../s3/object-store.ts";
import { withRetentionRules } from "./lifecycle-rule.ts";
import {
	expiredCuts,
	isAged,
	isExpired,
	keptDays,
	type TimeWitnesses,
} from "./retention.ts";

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

	/** Puts the store's rule in place or removes events, and removes old cut records and manifests. Returns who removes events. */
	async keep(nowMs: number): Promise<RetentionEnforcer> {
		const { keys, log, metrics, store } = this.#options;
		const enforcedBy = (await this.#hasRule()) ? "lifecycle" : "sweep";
		metrics.retention.reset();
		metrics.retention.set({ enforced_by: enforcedBy }, 1);
		await this.#options.tell?.({
			version: 1,
			days: keptDays,
			enforcedBy: enforcedBy === "lifecycle" ? "Lifecycle" : "Sweep",
		});
		const witnesses = await this.#witnesses(nowMs);
		let removed = 0;
		const remove = async (objects: ListedObject[]) => {
			await store.remove(objects.map(({ key }) => key));
			removed += objects.length;
		};
		if (enforcedBy === "sweep")
			for (const prefix of this.#expiring)
				await this.#each(prefix, (o) => isExpired(o, witnesses), remove);
		await this.#each(keys.allRuns(), (o) => isAged(o, witnesses), remove);
		// A record is written after the objects that it names, so it expires no earlier.
		await this.#each(keys.compactions(), (o) => isAged(o, witnesses), remove);
		for (const records of await this.#cutsByStream())
			await remove(expiredCuts(records, witnesses));
		await this.#each(keys.days(), (o) => isAged(o, witnesses), remove);
		for (const prefix of this.#expiring)
			await store.abortUploads(prefix, nowMs - abandonedMs);
		log.info({ enforcedBy, removed, keptDays }, "enforced retention");
		return enforcedBy;
	}

	/** What holds events. */
	get #expiring(): string[] {
		const { keys } = this.#options;
		return [keys.allEvents(), keys.allQuarantined(), keys.allReleases()];
	}

	/** False if the store has no lifecycle rules, or archive may not change them. */
	async #hasRule(): Promise<boolean> {
		const { store, log } = this.#options;
		const rules = await store.lifecycleRules();
		if (!rules) return false;
		const changed = withRetentionRules(rules, this.#expiring);
		if (!changed) return true;
		const isWritten = await store.setLifecycleRules(changed);
		if (isWritten)
			log.info("added the retention rules to the bucket's lifecycle rules");
		return isWritten;
	}

	/** Notes today in the store, which reveals the store's clock, and reads which days were noted before. */
	async #witnesses(nowMs: number): Promise<TimeWitnesses> {
		const { store, keys } = this.#options;
		await store.putNew(
			keys.day(utcDate(nowMs)),
			"Archive was at work on this day.\n",
			"text/plain",
		);
		const notes: ListedObject[] = [];
		for await (const note of store.list(keys.days())) notes.push(note);
		return {
			nowMs,
			// The newest note may be from this morning. A late clock only keeps objects longer.
			storeNowMs: Math.max(...notes.map(({ modifiedMs }) => modifiedMs)),
			// The store's clock must agree: archive's clock may have jumped when it wrote the note.
			daysSeen: notes
				.filter(({ key, modifiedMs }) => key === keys.day(utcDate(modifiedMs)))
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
		const { store, keys } = this.#options;
		const streams = new Map<string, ListedObject[]>();
		for await (const record of store.list(keys.allCuts())) {
			const stream = record.key.slice(0, record.key.lastIndexOf("/"));
			const records = streams.get(stream);
			if (records) records.push(record);
			else streams.set(stream, [record]);
		}
		return [...streams.values()];
	}
}

export interface RetentionKeeperOptions {
	tell?: (retention: RetentionState) => Promise<void>;
	store: ObjectStore & LifecycleStore;
	keys: ObjectKeys;
	metrics: ArchiveMetrics;
	log: Logger;
}

import type {
	DateFolder,
	SourceName,
} from "../../../packages/bucket/object-keys.ts";
import type { Store } from "../../../packages/bucket/object-store.ts";
import { keptFrom } from "../../../packages/contracts/retention.ts";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { nameOfSource } from "../../archive/ledger/ledger-index.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";
import type { KeptRecord } from "../retention/source-retention.ts";

export interface ListPassOptions {
	store: Store;
	/** Lists name objects by `s3://`, the bucket and the key, as all readers take them. */
	bucket: string;
	metrics: Pick<ArchiveMetrics, "listFailures">;
	log: Logger;
}

/** One look after the lists. What fails holds up nothing else: a later look repeats it. */
export class ListPass {
	readonly #options: ListPassOptions;
	readonly #signal: AbortSignal;
	#usual: UtcDate = "";
	#longer = new Map<string, UtcDate>();
	#losses: ReadonlyMap<string, number> = new Map();
	/** How many lists this has changed. */
	written = 0;
	failures = 0;

	constructor(options: ListPassOptions, signal: AbortSignal) {
		this.#options = options;
		this.#signal = signal;
	}

	/** Says how long sources' events stay. */
	keep(retentions: readonly KeptRecord[], nowMs: number): void {
		const today = utcDate(nowMs);
		this.#usual = keptFrom(undefined, today);
		for (const { record } of retentions)
			this.#longer.set(nameOfSource(record), keptFrom(record, today));
	}

	/** Says of which dates a person has accepted losses, by the folders of the records. */
	leaveOut(losses: ReadonlyMap<string, number>): void {
		this.#losses = losses;
	}

	hasLosses(dated: SourceName & { date: UtcDate }): boolean {
		return this.#losses.has(
			this.#options.store.keys.acceptedLossesOfDate(dated),
		);
	}

	/** Whether a Run would load the date. Archive removes its objects a day later. */
	isKept(folder: DateFolder): boolean {
		return (
			folder.date >= (this.#longer.get(nameOfSource(folder)) ?? this.#usual)
		);
	}

	/** Throws only the signal's reason. @param what is written. */
	async attempt(what: string, work: () => Promise<void>): Promise<void> {
		this.#signal.throwIfAborted();
		const { metrics, log } = this.#options;
		await work().catch((error) => {
			this.#signal.throwIfAborted();
			this.failures++;
			metrics.listFailures.inc();
			log.warn({ err: error, what }, "can't write a list; trying again later");
		});
	}

	/** Lengths of a source's lists in the bucket, by their keys. @param from the first date. */
	async bytesOf(
		source: SourceName,
		from: UtcDate,
	): Promise<Map<string, number>> {
		const { store } = this.#options;
		const prefix = store.keys.listsOfSource(source);
		const found = new Map<string, number>();
		for await (const { key, bytes } of store.list(
			prefix,
			`${prefix}date=${from}`,
		))
			found.set(key, bytes);
		return found;
	}

	/** Writes a list of these objects. @param listedBytes how long the bucket's is, 0 for none; undefined if it has changed. */
	async write(
		key: string,
		objects: readonly string[],
		listedBytes?: number,
	): Promise<void> {
		const { store } = this.#options;
		const text = objects.map((object) => this.#lineOf(object)).join("");
		if (Buffer.byteLength(text) === listedBytes) return;
		// Readers of Parquet take no empty list.
		if (text === "") await store.remove([key]);
		else await store.put(key, text, "text/plain");
		this.written++;
	}

	/** How long the line of an object is. */
	lineBytes(object: string): number {
		return Buffer.byteLength(this.#lineOf(object));
	}

	#lineOf(object: string): string {
		return `s3://${this.#options.bucket}/${object}\n`;
	}
}

import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { ListStore, ObjectStore } from "../../archive/s3/object-store.ts";
import type { ArchiveMetrics } from "../../archive/write/archive-metrics.ts";

const writesAtOnce = 16;
/** Bounds what waits in memory. */
const mostWaiting = 512;

export interface ListWriteOptions {
	store: ObjectStore & ListStore;
	/** Lists name objects by `s3://`, the bucket and the key, as all readers take them. */
	bucket: string;
	metrics: Pick<ArchiveMetrics, "listFailures">;
	log: Logger;
}

/** A list whose length isn't what it should be. */
export interface OutdatedList {
	key: string;
	/** 0 if there is none. */
	listedBytes: number;
	/** Keys of its objects. */
	objects: () => Promise<string[]>;
	/** Is called once the bucket has so many bytes of it. */
	onWritten?: (bytes: number) => void;
}

/** Writes lists, several at a time. One that fails holds up no others: the next look finds it again. */
export class ListWrites {
	readonly #options: ListWriteOptions;
	readonly #signal: AbortSignal;
	#waiting: OutdatedList[] = [];
	#written = 0;
	#failures = 0;

	constructor(options: ListWriteOptions, signal: AbortSignal) {
		this.#options = options;
		this.#signal = signal;
	}

	/** How many lists can't be written. */
	get failures(): number {
		return this.#failures;
	}

	async add(list: OutdatedList): Promise<void> {
		if (this.#waiting.push(list) >= mostWaiting) await this.finish();
	}

	/** Settles when all is written. Returns how many lists this has changed. */
	async finish(): Promise<number> {
		const waiting = this.#waiting;
		this.#waiting = [];
		await mapConcurrently(waiting, writesAtOnce, (list) =>
			this.attempt(list.key, () => this.#write(list)),
		);
		return this.#written;
	}

	/** Throws only the signal's reason. @param what is written. */
	async attempt(what: string, work: () => Promise<void>): Promise<void> {
		this.#signal.throwIfAborted();
		const { metrics, log } = this.#options;
		await work().catch((error) => {
			this.#signal.throwIfAborted();
			this.#failures++;
			metrics.listFailures.inc();
			log.warn({ err: error, what }, "can't write a list; trying again later");
		});
	}

	async #write({
		key,
		listedBytes,
		objects,
		onWritten,
	}: OutdatedList): Promise<void> {
		const { store, bucket } = this.#options;
		const lines = (await objects()).map((object) => lineOf(bucket, object));
		const text = lines.join("");
		const bytes = Buffer.byteLength(text);
		if (bytes === listedBytes) return;
		// Readers of Parquet take no empty list.
		if (text === "") await store.remove([key]);
		else await store.put(key, text, "text/plain");
		onWritten?.(bytes);
		this.#written++;
	}
}

function lineOf(bucket: string, key: string): string {
	return `s3://${bucket}/${key}\n`;
}

/** How long the line of an object with this key is. */
export function lineBytes(bucket: string, key: string): number {
	return Buffer.byteLength(lineOf(bucket, key));
}

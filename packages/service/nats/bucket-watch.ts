import { setTimeout as delay } from "node:timers/promises";
// @nats-io/kv: the NATS makers' own key-value client.
import type { KvEntry, KvStatus } from "@nats-io/kv";
import type { Logger } from "../log.ts";
import { pause } from "../pause.ts";
import { isStreamNotFound } from "./connection.ts";

/** Takes what a bucket holds. */
export interface BucketReader {
	/** A reading of the whole bucket begins. What was read before stays valid until {@link complete}. */
	begin?(): void;
	/**
	 * @param value undefined when the key was deleted.
	 * @param writtenAtMs when, on the server's clock: milliseconds since the epoch.
	 * Throws if the entry is unreadable.
	 */
	set(
		key: string,
		value: string | undefined,
		revision: number,
		writtenAtMs: number,
	): void;
	/** Every key that the bucket held when the reading began has been set. Called again for later changes. */
	complete?(): void;
	/** Nothing was written that hasn't been set. */
	seenCurrent?(): void;
}

/** A bucket as far as it is watched. A `KV` of the client is one. */
export interface WatchedBucket {
	status(): Promise<Pick<KvStatus, "values" | "streamInfo">>;
	/** The last entry of each key, then every change. Ends when it must be begun anew. */
	watch(): Promise<AsyncIterable<WatchedEntry> & { stop(): void }>;
}

export interface WatchedEntry
	extends Pick<KvEntry, "key" | "operation" | "revision" | "created"> {
	/** No entry that was there when the watch began comes after it. */
	isUpdate: boolean;
	string(): string;
}

const compareEveryMs = 5_000;
const retryDelayMs = 500;

/**
 * Keeps a reader in step with a KV bucket, and waits until the bucket exists. It reads the whole bucket again after
 * {@link readAgain}, and when the bucket changed but the watch heard nothing: a recreated bucket starts at revision 1, and a
 * watch of the old one stays silent.
 */
export class BucketWatch {
	readonly #open: () => Promise<WatchedBucket>;
	readonly #reader: BucketReader;
	readonly #log: Logger;
	#watch: { stop(): void } | undefined;
	#isMissing = false;

	/** @param open is called for each reading. */
	constructor(
		open: () => Promise<WatchedBucket>,
		reader: BucketReader,
		log: Logger,
	) {
		this.#open = open;
		this.#reader = reader;
		this.#log = log;
	}

	/** NATS has no such bucket. The reader keeps what it has read. */
	get isMissing(): boolean {
		return this.#isMissing;
	}

	/** Call it after a reconnect: the server may have dropped the watch. */
	readAgain(): void {
		this.#watch?.stop();
	}

	/** Watches until the signal fires. Never throws. */
	async run(signal: AbortSignal): Promise<void> {
		signal.addEventListener("abort", () => this.#watch?.stop());
		while (!signal.aborted) {
			try {
				await this.#readAndFollow(await this.#open(), signal);
			} catch (error) {
				this.#isMissing = isStreamNotFound(error);
				this.#log.debug(
					{ err: error },
					"failed to watch a bucket; trying again",
				);
				await pause(retryDelayMs, signal);
			}
		}
	}

	/** Returns when the bucket must be read again. */
	async #readAndFollow(kv: WatchedBucket, signal: AbortSignal): Promise<void> {
		const { values, streamInfo } = await kv.status();
		const watch = await kv.watch();
		this.#isMissing = false;
		this.#watch = watch;
		if (signal.aborted) watch.stop();
		let revision = streamInfo.state.last_seq;
		const comparing = setInterval(async () => {
			const heard = revision;
			const now = await kv.status().catch((error: unknown) => {
				// Somebody deleted the bucket.
				if (isStreamNotFound(error)) watch.stop();
			});
			if (!now) return;
			const { created, state } = now.streamInfo;
			const isSame = created === streamInfo.created;
			// The watch may be about to deliver the latest write.
			if (isSame && state.last_seq > heard) await delay(retryDelayMs);
			if (isSame && state.last_seq <= revision) this.#reader.seenCurrent?.();
			else watch.stop();
		}, compareEveryMs);
		try {
			this.#reader.begin?.();
			if (values === 0) this.#reader.complete?.();
			for await (const entry of watch) {
				this.#apply(entry);
				revision = Math.max(revision, entry.revision);
				if (entry.isUpdate) this.#reader.complete?.();
			}
		} finally {
			clearInterval(comparing);
			watch.stop();
		}
	}

	#apply(entry: WatchedEntry): void {
		const value = entry.operation === "PUT" ? entry.string() : undefined;
		try {
			const { key, revision, created } = entry;
			this.#reader.set(key, value, revision, created.getTime());
		} catch (error) {
			this.#log.error(
				{ err: error, key: entry.key },
				"failed to read an entry",
			);
		}
	}
}

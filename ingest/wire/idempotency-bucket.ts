import {
	JetStreamApiError,
	type JetStreamClient,
	type JetStreamManager,
	jetstream,
	type StoredMsg,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../packages/contracts/nats.ts";
import {
	countMessages,
	isConflict,
} from "../../packages/service/nats/connection.ts";
import type { IdempotencyEntry } from "./idempotency-entry.ts";

/** An entry, and the revision that a write must name to replace it. */
export interface KeptEntry {
	entry: IdempotencyEntry;
	revision: number;
}

/** The bucket takes no new key until an earlier one expires. */
export class IdempotencyBucketFull extends Error {
	override name = "IdempotencyBucketFull";
}

export const idempotencyStream = `KV_${bucket.idempotency}`;
const subjectPrefix = `$KV.${bucket.idempotency}.`;
/** nats-server's JSStreamStoreFailedF: the stream's limits. */
const storeFailed = 10077;
/** Fewer than the 1,024 subjects that nats-server looks up in one request. */
const readAtOnce = 500;

/** The bucket's key for a sender's key. The account comes first, so that its entries can be counted. */
export function entryKey(account: string, digest: string): string {
	return `${account}.${digest}`;
}

/**
 * The idempotency bucket: entries by {@link entryKey}, each with its own time to live. It uses plain JetStream requests,
 * because the KV client sets a time to live only with `create`.
 */
export class IdempotencyBucket {
	readonly #connection: NatsConnection;
	readonly #jetstream: JetStreamClient;
	readonly #manager: JetStreamManager;
	readonly #timeoutMs: number;

	private constructor(
		connection: NatsConnection,
		client: JetStreamClient,
		manager: JetStreamManager,
		timeoutMs: number,
	) {
		this.#connection = connection;
		this.#jetstream = client;
		this.#manager = manager;
		this.#timeoutMs = timeoutMs;
	}

	/** @param timeoutMs for each request. */
	static async open(
		connection: NatsConnection,
		timeoutMs: number,
	): Promise<IdempotencyBucket> {
		const client = jetstream(connection, { timeout: timeoutMs });
		const manager = await client.jetstreamManager(false);
		return new IdempotencyBucket(connection, client, manager, timeoutMs);
	}

	/** Reads from the bucket's leader; undefined if there is no entry. */
	async read(key: string): Promise<KeptEntry | undefined> {
		const message = await this.#manager.streams.getMessage(idempotencyStream, {
			last_by_subj: subjectPrefix + key,
		});
		return message ? kept(message) : undefined;
	}

	/** Reads many keys. An entry can be slightly outdated, which a later write detects. A missing entry is really missing. */
	async readMany(keys: readonly string[]): Promise<Map<string, KeptEntry>> {
		const found = new Map<string, KeptEntry>();
		for (let at = 0; at < keys.length; at += readAtOnce) {
			const some = keys.slice(at, at + readAtOnce);
			for (const message of await this.#lastOf(some))
				found.set(message.subject.slice(subjectPrefix.length), kept(message));
			// A follower may have answered that has no entry yet. The leader knows.
			for (const key of some) {
				if (found.has(key)) continue;
				const entry = await this.read(key);
				if (entry) found.set(key, entry);
			}
		}
		return found;
	}

	/**
	 * One batched read. It uses a callback because the client's iterator leaves its subscription behind, and waits without
	 * end if the connection breaks in the middle.
	 */
	async #lastOf(keys: readonly string[]): Promise<StoredMsg[]> {
		const { promise, resolve, reject } = Promise.withResolvers<StoredMsg[]>();
		const messages: StoredMsg[] = [];
		const reading = await this.#manager.direct.getLastMessagesFor(
			idempotencyStream,
			{
				multi_last: keys.map((key) => subjectPrefix + key),
				callback: (done, message) => {
					if (!done) messages.push(message);
					else if (done.err) reject(done.err);
					else resolve(messages);
				},
			},
		);
		const timer = setTimeout(
			() => reading.stop(new Error("NATS did not answer in time")),
			this.#timeoutMs,
		);
		return promise.finally(() => clearTimeout(timer));
	}

	/**
	 * Replaces the entry with this revision, 0 for no entry. Returns the new revision; undefined when another write was
	 * first. Throws {@link IdempotencyBucketFull}, or NATS's error: then the entry may have been written.
	 */
	async write(
		key: string,
		entry: IdempotencyEntry,
		revision: number,
	): Promise<number | undefined> {
		const leftMs = entry.expiresAtMs - Date.now();
		try {
			const { seq } = await this.#jetstream.publish(
				subjectPrefix + key,
				JSON.stringify(entry),
				{
					expect: { lastSubjectSequence: revision },
					// NATS takes whole seconds, at least one.
					ttl: `${Math.max(1, Math.ceil(leftMs / 1000))}s`,
					timeout: this.#timeoutMs,
				},
			);
			return seq;
		} catch (error) {
			if (isConflict(error)) return undefined;
			if (error instanceof JetStreamApiError && error.code === storeFailed)
				throw new IdempotencyBucketFull(error.message, { cause: error });
			throw error;
		}
	}

	/** How many entries there are, and how many are allowed. */
	async count(): Promise<{ keys: number; maxKeys: number }> {
		const { state, config } =
			await this.#manager.streams.info(idempotencyStream);
		return { keys: state.messages, maxKeys: config.max_msgs - keyHeadroom };
	}

	/** How many of the entries are this account's. */
	countOf(account: string): Promise<number> {
		return countMessages(
			this.#connection,
			idempotencyStream,
			`${subjectPrefix}${entryKey(account, "*")}`,
			this.#timeoutMs,
		);
	}
}

/**
 * Room in the stream beyond the allowed keys. Receive enforces the bound by looking at the count, because a full stream in
 * a cluster would also refuse changes of entries, and archive couldn't go on.
 */
export const keyHeadroom = 50_000;

function kept(message: StoredMsg): KeptEntry {
	return { entry: message.json<IdempotencyEntry>(), revision: message.seq };
}

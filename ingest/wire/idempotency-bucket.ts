import {
	JetStreamApiError,
	type JetStreamClient,
	type JetStreamManager,
	jetstream,
	type StoredMsg,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../contracts/nats.ts";
import { isConflict } from "../../service/nats.ts";
import type { IdempotencyEntry } from "./idempotency-entry.ts";

/** An entry and the revision that a write must name to replace it. */
export interface KeptEntry {
	entry: IdempotencyEntry;
	revision: number;
}

/** No more keys are taken until some have expired. */
export class IdempotencyBucketFull extends Error {
	override name = "IdempotencyBucketFull";
}

export const idempotencyStream = `KV_${bucket.idempotency}`;
const subjectPrefix = `$KV.${bucket.idempotency}.`;
/** nats-server's JSStreamStoreFailedF: the stream's limits. */
const storeFailed = 10077;
/** Below the 1,024 subjects that nats-server looks up in one request. */
const readAtOnce = 500;

/**
 * The idempotency bucket: entries by the key's digest, each with a time to live of its own. Plain JetStream requests, as
 * the KV client writes no such times but with `create`.
 */
export class IdempotencyBucket {
	readonly #jetstream: JetStreamClient;
	readonly #manager: JetStreamManager;
	readonly #timeoutMs: number;

	private constructor(
		client: JetStreamClient,
		manager: JetStreamManager,
		timeoutMs: number,
	) {
		this.#jetstream = client;
		this.#manager = manager;
		this.#timeoutMs = timeoutMs;
	}

	/** @param timeoutMs of each request. */
	static async open(
		connection: NatsConnection,
		timeoutMs: number,
	): Promise<IdempotencyBucket> {
		const client = jetstream(connection, { timeout: timeoutMs });
		const manager = await client.jetstreamManager(false);
		return new IdempotencyBucket(client, manager, timeoutMs);
	}

	/** What the bucket's leader has; undefined for nothing. */
	async read(key: string): Promise<KeptEntry | undefined> {
		const message = await this.#manager.streams.getMessage(idempotencyStream, {
			last_by_subj: subjectPrefix + key,
		});
		return message ? kept(message) : undefined;
	}

	/** The same for many keys. An entry may be of a moment ago, as a write will notice; that there is none is never so. */
	async readMany(keys: readonly string[]): Promise<Map<string, KeptEntry>> {
		const found = new Map<string, KeptEntry>();
		for (let at = 0; at < keys.length; at += readAtOnce) {
			const some = keys.slice(at, at + readAtOnce);
			const messages = await this.#manager.direct.getLastMessagesFor(
				idempotencyStream,
				{ multi_last: some.map((key) => subjectPrefix + key) },
			);
			for await (const message of messages)
				found.set(message.subject.slice(subjectPrefix.length), kept(message));
			// A follower answers, too, and may not have heard of a key yet.
			for (const key of some) {
				if (found.has(key)) continue;
				const entry = await this.read(key);
				if (entry) found.set(key, entry);
			}
		}
		return found;
	}

	/**
	 * Writes an entry in place of the one that has this revision, 0 for none. Returns its own, undefined when another write
	 * was first. Throws {@link IdempotencyBucketFull}, or what NATS says: the entry may be written then.
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
					// NATS counts in seconds and takes no less than one.
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

	/** How many entries there are, and how many there may be. */
	async count(): Promise<{ keys: number; maxKeys: number }> {
		const { state, config } =
			await this.#manager.streams.info(idempotencyStream);
		return { keys: state.messages, maxKeys: config.max_msgs - keyHeadroom };
	}
}

/**
 * Entries beyond the bound, which receive keeps by looking at the count: in a cluster a full stream would refuse changes
 * of entries, too, and archive couldn't go on.
 */
export const keyHeadroom = 50_000;

function kept(message: StoredMsg): KeptEntry {
	return { entry: message.json<IdempotencyEntry>(), revision: message.seq };
}

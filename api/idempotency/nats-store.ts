import { jetstreamManager } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../contracts/nats.ts";
import type { IdempotencyRecord, IdempotencyStore } from "./idempotency-key.ts";

const timeoutMs = 2_000;
const recordTtlMs = 24 * 60 * 60_000;

interface NatsIdempotencyStoreOptions {
	/** Throws while there is no connection. */
	connection: () => NatsConnection;
	replicas: number;
}

/** Records of idempotent requests in a NATS key-value bucket, which all replicas share. */
export class NatsIdempotencyStore implements IdempotencyStore {
	readonly #options: NatsIdempotencyStoreOptions;
	#bucket: KV | undefined;

	constructor(options: NatsIdempotencyStoreOptions) {
		this.#options = options;
	}

	async getOrCreate(
		digest: string,
		record: IdempotencyRecord,
	): Promise<IdempotencyRecord> {
		return this.#inBucket(async (records) => {
			const known = await records.get(digest);
			if (known?.operation === "PUT") return known.json<IdempotencyRecord>();
			try {
				await records.create(digest, JSON.stringify(record));
				return record;
			} catch (refusal) {
				// Another replica received the same request meanwhile.
				const twin = await records.get(digest);
				if (twin?.operation === "PUT") return twin.json<IdempotencyRecord>();
				throw refusal;
			}
		});
	}

	async complete(digest: string, record: IdempotencyRecord): Promise<void> {
		await this.#inBucket((records) =>
			records.put(digest, JSON.stringify(record)),
		);
	}

	async #inBucket<T>(use: (records: KV) => Promise<T>): Promise<T> {
		try {
			this.#bucket ??= await this.#openBucket();
			return await use(this.#bucket);
		} catch (error) {
			// NATS may have lost its storage and the bucket: the next request creates it.
			this.#bucket = undefined;
			throw error;
		}
	}

	async #openBucket(): Promise<KV> {
		const { connection, replicas } = this.#options;
		const manager = await jetstreamManager(connection(), {
			timeout: timeoutMs,
		});
		return new Kvm(manager.jetstream()).create(bucket.requests, {
			history: 1,
			ttl: recordTtlMs,
			replicas,
		});
	}
}

import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value API.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket } from "../../packages/contracts/nats.ts";
import { FairQuota } from "../../packages/fair/fair-quota.ts";
import { countMessages } from "../../packages/service/nats/connection.ts";
import { haveMade, streamOf } from "../../packages/streams/made-streams.ts";
import type {
	IdempotencyLookup,
	IdempotencyRecord,
	IdempotencyStore,
	RecordKey,
} from "./idempotency-key.ts";

const timeoutMs = 2_000;
const stream = streamOf(bucket.requests);
/** An account alone gets half of them: more than one user can create in 24 hours within the default rate limit. */
const defaultMaxRecords = 400_000;

export interface RequestBucketOptions {
	/** Throws while there is no connection. */
	connection: () => NatsConnection;
	replicas: number;
}

interface NatsIdempotencyStoreOptions extends RequestBucketOptions {
	maxRecords?: number;
	/** Milliseconds of a clock that never jumps. */
	now?: () => number;
}

/** Records of idempotent requests in a NATS key-value bucket, which all replicas share. */
export class NatsIdempotencyStore implements IdempotencyStore {
	readonly #bucket: RequestBucket;
	readonly #quota: FairQuota;

	constructor(options: NatsIdempotencyStoreOptions) {
		this.#bucket = new RequestBucket(options);
		const {
			maxRecords = defaultMaxRecords,
			now = () => performance.now(),
			connection,
		} = options;
		this.#quota = new FairQuota({
			countAll: () =>
				this.#bucket.use(async (_, { streams }) => {
					const { state } = await streams.info(stream);
					return { entries: state.messages, maxEntries: maxRecords };
				}),
			countOf: (account) =>
				countMessages(
					connection(),
					stream,
					`$KV.${bucket.requests}.${account}.*`,
					timeoutMs,
				),
			now,
		});
	}

	async getOrCreate(
		request: RecordKey,
		record: IdempotencyRecord,
	): Promise<IdempotencyLookup | "full"> {
		const { account } = request;
		const key = keyOf(request);
		return this.#bucket.use(async (records) => {
			const known = await records.get(key);
			if (known?.operation === "PUT") return { record: known.json() };
			await this.#quota.look(account);
			try {
				const created = await this.#quota.add(account, () =>
					records.create(key, JSON.stringify(record)),
				);
				if (created === "full") return "full";
				return { record, createdRevision: created! };
			} catch (refusal) {
				// Another replica received the same request meanwhile.
				const twin = await records.get(key);
				if (twin?.operation === "PUT") return { record: twin.json() };
				throw refusal;
			}
		});
	}

	async complete(request: RecordKey, record: IdempotencyRecord): Promise<void> {
		await this.#bucket.use((records) =>
			records.put(keyOf(request), JSON.stringify(record)),
		);
	}

	/** Purges by sequence: a deletion through the KV client would leave a marker for 24 hours, and could hit a later record. */
	async drop(request: RecordKey, createdRevision: number): Promise<void> {
		await this.#bucket.use((_, { streams }) =>
			streams.purge(stream, {
				filter: `$KV.${bucket.requests}.${keyOf(request)}`,
				seq: createdRevision + 1,
			}),
		);
		this.#quota.removed(request.account);
	}
}

/** The bucket of the API's own, whose entries end after a day. */
export class RequestBucket {
	readonly #options: RequestBucketOptions;
	#open: { records: KV; manager: JetStreamManager } | undefined;

	constructor(options: RequestBucketOptions) {
		this.#options = options;
	}

	/** Throws errors of NATS, and what `use` throws. */
	async use<T>(
		use: (records: KV, manager: JetStreamManager) => Promise<T>,
	): Promise<T> {
		try {
			this.#open ??= await this.#opened();
			const { records, manager } = this.#open;
			return await use(records, manager);
		} catch (error) {
			// NATS may have lost its storage and the bucket: the next request creates it.
			this.#open = undefined;
			throw error;
		}
	}

	async #opened() {
		const { connection, replicas } = this.#options;
		await haveMade(connection(), stream, replicas, timeoutMs);
		const manager = await jetstreamManager(connection(), {
			timeout: timeoutMs,
		});
		const records = await new Kvm(manager.jetstream()).open(bucket.requests);
		return { records, manager };
	}
}

/** The account comes first, so that its records can be counted. */
function keyOf({ account, digest }: RecordKey): string {
	return `${account}.${digest}`;
}

import { StorageType } from "@nats-io/jetstream";
// @nats-io/kv: the NATS makers' own key-value client.
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import {
	type AddedLedger,
	addedKey,
	type CountsRequest,
	type DeletedLedger,
	furtherKey,
	type Intervention,
	type RetentionState,
	retentionKey,
	type ShardState,
	type ShardStop,
	type SourceCounts,
	type SourceLedger,
	shardKey,
	uncounted,
} from "../../../packages/contracts/ledger.ts";
import {
	archivesBucketKey,
	bucket,
	shardOfStream,
} from "../../../packages/contracts/nats.ts";
import {
	type SourceRetention,
	sourceRetentionKey,
} from "../../../packages/contracts/retention.ts";
import { addDays, laterInstant } from "../../../packages/contracts/utc-date.ts";
import { isConflict } from "../../../packages/service/nats/connection.ts";
import { republished } from "../../../packages/streams/made-streams.ts";
import type { BucketMark, KnownBucket } from "../decide/bucket-verdict.ts";

const attempts = 10;

/**
 * What archive publishes in NATS: how far objects are done, the ledgers, and who enforces retention. Progress never moves
 * backwards, even if two archivers are at work and one of them is late; but a ledger through a time of the future gives way.
 */
export class NatsProgress {
	readonly #objectsDone: KV;
	readonly #ledger: KV;

	/** @param objectsDone and `ledger` are the buckets, which {@link NatsProgress.open} makes. */
	constructor(objectsDone: KV, ledger: KV) {
		this.#objectsDone = objectsDone;
		this.#ledger = ledger;
	}

	static async open(
		connection: NatsConnection,
		replicas: number,
	): Promise<NatsProgress> {
		const kvm = new Kvm(connection);
		const options = { replicas, history: 1, storage: StorageType.File };
		return new NatsProgress(
			await kvm.create(bucket.objectsDone, options),
			await kvm.create(bucket.ledger, {
				...options,
				...republished(bucket.ledger),
			}),
		);
	}

	/** The stream's sequence through which all objects are in the store; 0 for none. */
	async objectsDone(stream: string): Promise<number> {
		const entry = await this.#objectsDone.get(stream);
		return entry?.operation === "PUT" ? Number(entry.string()) : 0;
	}

	async setObjectsDone(stream: string, sequence: number): Promise<void> {
		await advance(
			this.#objectsDone,
			stream,
			String(sequence),
			(published) => Number(published) < sequence,
		);
	}

	/** The streams of all shards that have an objects-done. */
	async streams(): Promise<string[]> {
		const keys = await Array.fromAsync(await this.#objectsDone.keys());
		return keys.filter((key) => shardOfStream(key) !== undefined).sort();
	}

	/** Lowers a stream's objects-done, where a person has accepted a bucket that hasn't these objects. */
	async lowerObjectsDone(stream: string, sequence: number): Promise<void> {
		await advance(
			this.#objectsDone,
			stream,
			String(sequence),
			(published) => Number(published) > sequence,
		);
	}

	/** The bucket of S3 that archive writes to; undefined if NATS is new. */
	async bucket(): Promise<KnownBucket | undefined> {
		return jsonOf(this.#objectsDone, archivesBucketKey);
	}

	/** Notes how far the bucket has come. Changes nothing if NATS knows another one, or a higher number. */
	async noteBucket(mark: BucketMark): Promise<void> {
		await revise(this.#objectsDone, archivesBucketKey, async (published) => {
			const known: KnownBucket | undefined = published && JSON.parse(published);
			if (known && (known.id !== mark.id || known.number >= mark.number))
				return undefined;
			return JSON.stringify({ ...known, ...mark });
		});
	}

	/** Takes this bucket in place of the one that NATS knows, by a person's word. */
	async acceptBucket(accepted: Required<KnownBucket>): Promise<void> {
		const text = JSON.stringify(accepted);
		await revise(this.#objectsDone, archivesBucketKey, async () => text);
	}

	async setLedger(ledger: SourceLedger): Promise<void> {
		const { sourceKey, shard, archivedThrough: next } = ledger;
		const text = JSON.stringify(ledger);
		let isTaken = false;
		const put = (key: string) =>
			advance(this.#ledger, key, text, (published) => {
				const current: SourceLedger | DeletedLedger = JSON.parse(published);
				if ("deletedTime" in current) return false;
				isTaken = current.shard !== undefined && current.shard !== shard;
				return (
					!isTaken &&
					laterInstant(current.archivedThrough, next, Date.now()) === next &&
					published !== text
				);
			});
		await put(sourceKey);
		// The Source has moved, and the other shard was first.
		if (isTaken) await put(furtherKey(sourceKey, shard!));
	}

	/**
	 * No Source's ledger counts anything, where a person has accepted another state of the bucket: archive counts anew what that has, and
	 * publishes nothing that is older than what is published.
	 */
	async forgetCounts(): Promise<void> {
		for (const key of await Array.fromAsync(await this.#ledger.keys()))
			await revise(this.#ledger, key, async (published) => {
				const ledger: SourceLedger = JSON.parse(published ?? "{}");
				if (!ledger.archived) return undefined;
				// Receive dates an event by its own clock, which may be ahead of NATS's.
				const before = addDays(ledger.firstEventDate, -1);
				const archivedThrough = `${before}T00:00:00.000Z`;
				return JSON.stringify({ ...uncounted(ledger), archivedThrough });
			});
	}

	/** What was counted of one Source, if it is the account's. */
	async counts({
		account,
		sourceKey,
		shards,
	}: CountsRequest): Promise<SourceCounts> {
		const read = async <T extends { account: string }>(key: string) => {
			const found = await jsonOf<T>(this.#ledger, key);
			return found?.account === account ? found : undefined;
		};
		const keys = shards.map((shard) => furtherKey(sourceKey, shard));
		const [released, ...ledgers] = await Promise.all([
			read<AddedLedger>(addedKey(sourceKey)),
			...[sourceKey, ...keys].map((key) =>
				read<SourceLedger | DeletedLedger>(key),
			),
		]);
		return {
			ledgers: ledgers.filter((one) => one !== undefined) as SourceLedger[],
			...(released && { released: released as AddedLedger }),
		};
	}

	/** @param count gets the published ledger, returns the new one, or undefined to leave it. May be called again after a conflict. */
	async setAdded(
		sourceKey: string,
		count: (
			published: AddedLedger | undefined,
		) => Promise<AddedLedger | undefined>,
	): Promise<void> {
		await revise(this.#ledger, addedKey(sourceKey), async (published) => {
			const ledger = await count(published && JSON.parse(published));
			const text = ledger && JSON.stringify(ledger);
			return text === published ? undefined : text;
		});
	}

	setRetention(retention: RetentionState): Promise<void> {
		return this.#replace(retentionKey, JSON.stringify(retention));
	}

	setSourceRetention(retention: SourceRetention): Promise<void> {
		const key = sourceRetentionKey(retention.sourceKey);
		return this.#replace(key, JSON.stringify(retention));
	}

	/** What the shard has lost. That it is at work withdraws what was said of a stop. */
	setShard(state: ShardState): Promise<void> {
		return this.#reviseShard(state.shard, ({ intervention }) => ({
			...state,
			...(intervention && { intervention }),
		}));
	}

	/** Says that archive has stopped the shard, or no more. */
	setStopped(shard: number, stopped: ShardStop | undefined): Promise<void> {
		return this.#reviseShard(shard, ({ stopped: _, ...state }) => ({
			...state,
			...(stopped && { stopped }),
		}));
	}

	/** Says what an administrator did to the shard's stream. */
	setIntervention(shard: number, intervention: Intervention): Promise<void> {
		return this.#reviseShard(shard, (state) => ({ ...state, intervention }));
	}

	/** What is published of the shard. */
	async shardState(shard: number): Promise<ShardState | undefined> {
		return jsonOf(this.#ledger, shardKey(shard));
	}

	#reviseShard(
		shard: number,
		revised: (published: ShardState) => ShardState,
	): Promise<void> {
		return revise(this.#ledger, shardKey(shard), async (published) => {
			const text = JSON.stringify(
				revised(
					published
						? JSON.parse(published)
						: { version: 1, shard, lostFrames: {} },
				),
			);
			return text === published ? undefined : text;
		});
	}

	#replace(key: string, text: string): Promise<void> {
		return advance(this.#ledger, key, text, (published) => published !== text);
	}

	/** Replaces a source's ledgers, for good, by the fact that its events are deleted. */
	async setDeleted(source: SourceName, deletedMs: number): Promise<void> {
		const { account, sourceKey } = source;
		const deletedTime = new Date(deletedMs).toISOString();
		const ledger: DeletedLedger = {
			version: 1,
			account,
			sourceKey,
			deletedTime,
		};
		await advance(
			this.#ledger,
			sourceKey,
			JSON.stringify(ledger),
			(published) => !("deletedTime" in JSON.parse(published)),
		);
		const further = await Array.fromAsync(
			await this.#ledger.keys(`${sourceKey}.*`),
		);
		for (const key of [
			addedKey(sourceKey),
			sourceRetentionKey(sourceKey),
			...further,
		]) {
			const entry = await this.#ledger.get(key);
			if (entry?.operation === "PUT") await this.#ledger.purge(key);
		}
	}
}

/** Undefined if there is no value. */
async function jsonOf<T>(kv: KV, key: string): Promise<T | undefined> {
	const entry = await kv.get(key);
	return entry?.operation === "PUT" ? entry.json<T>() : undefined;
}

/** Puts a value unless the current one is as new. */
function advance(
	kv: KV,
	key: string,
	value: string,
	isOlder: (published: string) => boolean,
): Promise<void> {
	return revise(kv, key, async (published) =>
		published !== undefined && !isOlder(published) ? undefined : value,
	);
}

/** Puts the value that follows from the current one, if any does, by compare-and-set on its revision. */
async function revise(
	kv: KV,
	key: string,
	valueAfter: (published: string | undefined) => Promise<string | undefined>,
): Promise<void> {
	for (let attempt = 1; ; attempt++) {
		const entry = await kv.get(key);
		const published = entry?.operation === "PUT" ? entry.string() : undefined;
		const value = await valueAfter(published);
		if (value === undefined) return;
		try {
			if (entry) await kv.update(key, value, entry.revision);
			else await kv.create(key, value);
			return;
		} catch (error) {
			if (!isConflict(error) || attempt === attempts) throw error;
		}
	}
}

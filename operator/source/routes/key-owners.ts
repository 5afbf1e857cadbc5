// @nats-io/kv: the NATS makers' own key-value API.
import type { KV } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { bucket as buckets } from "../../../packages/contracts/nats.ts";
import {
	type SourceShards,
	shardsKey,
	unitedShards,
} from "../../../packages/contracts/route.ts";
import { isConflict } from "../../../packages/service/nats/connection.ts";
import { readEntries } from "../../../packages/streams/changes.ts";

/** Owns a source key in place of an account after its events were deleted. No namespace has this name. */
export const tombstone = "(deleted)";

/**
 * Which account has a source key, for ever, and which shards may hold its events: the bucket of source keys in NATS, and a copy
 * in memory of what was read and written. Methods throw errors of NATS.
 */
export class KeyOwners {
	#bucket: KV | undefined;
	#owners = new Map<string, string>();
	/** By source key, of those that have moved. */
	#shards = new Map<string, { shards: number[]; revision: number }>();

	/** By source key: an account, or {@link tombstone}. */
	get all(): ReadonlyMap<string, string> {
		return this.#owners;
	}

	/** Reads the whole bucket. */
	async read(nats: NatsConnection, bucket: KV): Promise<void> {
		const entries = await Array.fromAsync(
			readEntries(nats, buckets.sourceKeys),
		);
		this.#owners = new Map();
		this.#shards = new Map();
		for (const { key, operation, revision, ...entry } of entries) {
			if (operation !== "PUT") continue;
			const text = entry.string();
			const sourceKey = sourceKeyOf(key);
			if (sourceKey === undefined) this.#owners.set(key, text);
			else {
				const { shards } = JSON.parse(text) as SourceShards;
				this.#shards.set(sourceKey, { shards, revision });
			}
		}
		this.#bucket = bucket;
	}

	/** Takes a source key for an account, unless it belongs to another one by now. */
	async take(sourceKey: string, account: string): Promise<void> {
		const owner = await take(this.#bucket!, sourceKey, account);
		this.#owners.set(sourceKey, owner);
	}

	/** The shards that may hold a source's events, if it has moved; else none. */
	shardsOf(sourceKey: string): readonly number[] {
		return this.#shards.get(sourceKey)?.shards ?? [];
	}

	/** Whether an entry of the bucket names shards that were not read: an administrator moves the Source. */
	isNews(key: string, text: string): boolean {
		const sourceKey = sourceKeyOf(key);
		if (sourceKey === undefined) return false;
		const { shards } = JSON.parse(text) as SourceShards;
		const known = this.shardsOf(sourceKey);
		return shards.some((shard) => !known.includes(shard));
	}

	/**
	 * Adds to the shards that may hold a source's events. NATS refuses what was decided on an earlier set: it would take shards
	 * away that were added since.
	 */
	async addShards(sourceKey: string, added: readonly number[]): Promise<void> {
		const { shards: known = [], revision } = this.#shards.get(sourceKey) ?? {};
		const shards = unitedShards(known, added);
		if (shards.length === known.length) return;
		const key = shardsKey(sourceKey);
		const text = JSON.stringify({ version: 1, shards } satisfies SourceShards);
		const written =
			revision === undefined
				? await this.#bucket!.create(key, text)
				: await this.#bucket!.update(key, text, revision);
		this.#shards.set(sourceKey, { shards, revision: written });
	}

	/** Nobody can take the key again. Returns false and does nothing if it belongs to another account. */
	async putTombstone(sourceKey: string, account: string): Promise<boolean> {
		const owner = this.#owners.get(sourceKey);
		if (owner !== undefined && owner !== account && owner !== tombstone)
			return false;
		if (owner !== tombstone) await this.#bucket!.put(sourceKey, tombstone);
		this.#owners.set(sourceKey, tombstone);
		return true;
	}
}

/** Of an entry that {@link shardsKey} names. */
function sourceKeyOf(key: string): string | undefined {
	return /^shards\.(.+)$/.exec(key)?.[1];
}

/** Returns the account that owns the source key, which may be an earlier one. */
async function take(
	bucket: KV,
	sourceKey: string,
	account: string,
): Promise<string> {
	try {
		await bucket.create(sourceKey, account);
		return account;
	} catch (error) {
		const entry = isConflict(error) ? await bucket.get(sourceKey) : null;
		if (!entry) throw error;
		return entry.string();
	}
}

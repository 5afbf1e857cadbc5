import { randomBytes } from "node:crypto";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { shardOfStream } from "../../../packages/contracts/nats.ts";
import { mapInOrder } from "../../../packages/fair/fair-limit.ts";
import { Alarm } from "../decide/alarm.ts";
import type { CutRecord } from "../decide/cut.ts";

const readsAtOnce = 32;

export class CutStore {
	readonly #store: Store;
	/** Stands in each record, so that no two archivers write the same one: of those, each would take itself for the only one. */
	readonly #writer = randomBytes(8).toString("hex");

	constructor(store: Store) {
		this.#store = store;
	}

	/**
	 * Writes a cut unless a record with the same first sequence exists, and returns the record that is in the bucket.
	 * Throws {@link Alarm} CutUnreadable if this archive can't read that record.
	 */
	async decide(cut: CutRecord): Promise<CutRecord> {
		const key = this.#store.keys.cut(cut.stream, cut.first);
		const text = JSON.stringify({ ...cut, writer: this.#writer });
		const written = await this.#store.putNew(key, text, "application/json");
		return written === "created" ? cut : this.#read(key);
	}

	/**
	 * All cuts of the shard's streams, each stream's in the order of their sequences, one stream after the other. For a stream in
	 * `known`, the cuts begin with the one at that first sequence. Memory holds a few of them: a month's may be millions.
	 */
	ofShard(
		shard: number,
		known: ReadonlyMap<string, { first: number }> = new Map(),
	): AsyncGenerator<CutRecord> {
		return this.#readAll(this.#keysOfShard(shard, known));
	}

	async *#keysOfShard(
		shard: number,
		known: ReadonlyMap<string, { first: number }>,
	): AsyncGenerator<string> {
		const { keys } = this.#store;
		const from = new Map<string, string>();
		for (const [stream, { first }] of known)
			from.set(keys.cutsOfStream(stream), keys.cut(stream, first));
		let after: string | undefined;
		for (let isWhole = false; !isWhole; ) {
			isWhole = true;
			const listed = this.#store.list(keys.cutsOfShard(shard), after);
			for await (const { key } of listed) {
				const start = from.get(key.slice(0, key.lastIndexOf("/") + 1));
				const isNew = start === undefined || key > start;
				yield isNew ? key : start;
				if (isNew) continue;
				// What the stream has before it isn't listed.
				after = start;
				isWhole = false;
				break;
			}
		}
	}

	/** The shards that have cuts, whichever archive's they are, by a page of keys each. */
	async shards(): Promise<number[]> {
		const { keys } = this.#store;
		const shards: number[] = [];
		for (let after: string | undefined; ; ) {
			const key = await this.#firstKey(keys.allCuts(), after);
			if (key === undefined) return shards.sort((a, b) => a - b);
			const shard = shardOfStream(key.slice(keys.allCuts().length));
			if (shard !== undefined) shards.push(shard);
			// Behind all of its streams, whose names end with hexadecimal digits.
			after = shard === undefined ? key : `${keys.cutsOfShard(shard)}~`;
		}
	}

	async #firstKey(prefix: string, after?: string): Promise<string | undefined> {
		for await (const { key } of this.#store.list(prefix, after)) return key;
		return undefined;
	}

	/** A stream's cuts in order, as {@link ofShard}: all of them, or those after one cut. */
	ofStream(
		stream: string,
		after?: Pick<CutRecord, "first">,
	): AsyncGenerator<CutRecord> {
		const { keys } = this.#store;
		const start = after && keys.cut(stream, after.first);
		const listed = this.#store.list(keys.cutsOfStream(stream), start);
		return this.#readAll(keysOf(listed));
	}

	#readAll(keys: AsyncIterable<string>): AsyncGenerator<CutRecord> {
		return mapInOrder(keys, readsAtOnce, (key) => this.#read(key));
	}

	async #read(key: string): Promise<CutRecord> {
		const text = await this.#store.get(key);
		if (text === undefined)
			throw new Error(
				`S3: ${key} existed and is gone. Restore it; archive tries again. If it is gone for good, accept that: \`tidemill ledger accept-bucket\`.`,
			);
		let cut: CutRecord;
		try {
			cut = JSON.parse(text);
		} catch (error) {
			throw new Alarm("CutUnreadable", `${key} is not JSON`, { cause: error });
		}
		if (cut.version !== 1)
			throw new Alarm(
				"CutUnreadable",
				`${key} has version ${cut.version}; this archive knows version 1`,
			);
		return cut;
	}
}

async function* keysOf(
	listed: AsyncIterable<ListedObject>,
): AsyncGenerator<string> {
	for await (const { key } of listed) yield key;
}

import { randomBytes } from "node:crypto";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { Alarm } from "../decide/alarm.ts";
import type { CutRecord } from "../decide/cut.ts";
import type { ObjectStore } from "../s3/object-store.ts";

const readsAtOnce = 32;

export class CutStore {
	readonly #store: ObjectStore;
	/** Stands in each record, so that no two archivers write the same one: of those, each would take itself for the only one. */
	readonly #writer = randomBytes(8).toString("hex");

	constructor(store: ObjectStore) {
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
	 * All cuts of the shard's streams, each stream's in the order of their sequences. For a stream in `known`, the cuts
	 * begin with the one at that first sequence.
	 */
	async ofShard(
		shard: number,
		known: ReadonlyMap<string, { first: number }> = new Map(),
	): Promise<CutRecord[]> {
		const from = new Map<string, string>();
		for (const [stream, { first }] of known)
			from.set(
				this.#store.keys.cutsOfStream(stream),
				this.#store.keys.cut(stream, first),
			);
		const keys: string[] = [];
		let after: string | undefined;
		do after = await this.#listUntilKnown(shard, from, after, keys);
		while (after !== undefined);
		return mapConcurrently(keys, readsAtOnce, (key) => this.#read(key));
	}

	/** Lists into `keys` up to a stream that is partly known. Returns where in it to continue. */
	async #listUntilKnown(
		shard: number,
		from: Map<string, string>,
		after: string | undefined,
		keys: string[],
	): Promise<string | undefined> {
		const prefix = this.#store.keys.cutsOfShard(shard);
		for await (const { key } of this.#store.list(prefix, after)) {
			const start = from.get(key.slice(0, key.lastIndexOf("/") + 1));
			if (start === undefined || key > start) keys.push(key);
			else {
				keys.push(start);
				return start;
			}
		}
		return undefined;
	}

	/** A stream's cuts in order: all of them, or those after one cut. */
	async ofStream(stream: string, after?: CutRecord): Promise<CutRecord[]> {
		return this.#readAll(
			this.#store.keys.cutsOfStream(stream),
			after && this.#store.keys.cut(stream, after.first),
		);
	}

	async #readAll(prefix: string, after?: string): Promise<CutRecord[]> {
		const listed = this.#store.list(prefix, after);
		const keys = await Array.fromAsync(listed, ({ key }) => key);
		return mapConcurrently(keys, readsAtOnce, (key) => this.#read(key));
	}

	async #read(key: string): Promise<CutRecord> {
		const text = await this.#store.get(key);
		if (text === undefined)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
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

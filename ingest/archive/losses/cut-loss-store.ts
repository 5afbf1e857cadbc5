import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { CutGroup, CutRecord } from "../decide/cut.ts";
import type { CutLoss } from "../decide/loss.ts";
import type { ObjectKeys } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";

const listsAtOnce = 32;

/** Knows which objects are replaced by others, so that they may be gone. */
export interface ReplacedObjects {
	/** Whether another object of the group's date holds the events of the object with this key. */
	hasReplaced(group: CutGroup, key: string): Promise<boolean>;
}

/** Which objects of cuts are missing, and which of them are given up. */
export class CutLossStore {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;
	readonly #replaced: ReplacedObjects;

	constructor(store: ObjectStore, keys: ObjectKeys, replaced: ReplacedObjects) {
		this.#store = store;
		this.#keys = keys;
		this.#replaced = replaced;
	}

	/**
	 * Those of the cut's groups whose objects aren't in the store. An object may have been replaced, but not one in
	 * quarantine.
	 */
	async missing(
		{ stream, first }: CutRecord,
		groups: readonly CutGroup[],
	): Promise<CutGroup[]> {
		const found = await mapConcurrently(groups, listsAtOnce, async (group) => {
			const key = this.#keys.events(group, stream, first);
			if (await this.#first(key)) return true;
			return !group.quarantined && this.#replaced.hasReplaced(group, key);
		});
		return groups.filter((_, index) => !found[index]);
	}

	/** When the store took the cut's record, by the store's clock, milliseconds since the epoch. */
	async decidedMs({ stream, first }: CutRecord): Promise<number> {
		const record = await this.#first(this.#keys.cut(stream, first));
		if (!record)
			throw new Error(`S3: the cut ${stream}-${first} existed and is gone`);
		return record.modifiedMs;
	}

	/** Writes what is lost of a cut unless that is decided, and returns the record that is in the bucket. */
	async decide(loss: CutLoss): Promise<CutLoss> {
		const key = this.#keys.loss(loss.stream, loss.loss.from);
		const text = JSON.stringify(loss);
		const written = await this.#store.putNew(key, text, "application/json");
		return written === "created" ? loss : this.#read(key);
	}

	/** Of all streams that the shard has had. */
	async ofShard(shard: number): Promise<CutLoss[]> {
		const keys: string[] = [];
		const prefix = this.#keys.lossesOfShard(shard);
		for await (const { key } of this.#store.list(prefix)) keys.push(key);
		return mapConcurrently(keys, listsAtOnce, (key) => this.#read(key));
	}

	async #read(key: string): Promise<CutLoss> {
		const text = await this.#store.get(key);
		if (text === undefined)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
		const loss: CutLoss = JSON.parse(text);
		if (loss.version !== 1)
			throw new Error(
				`${key} has version ${loss.version}; this archive knows version 1. Upgrade archive.`,
			);
		return loss;
	}

	async #first(key: string) {
		for await (const object of this.#store.list(key)) return object;
		return undefined;
	}
}

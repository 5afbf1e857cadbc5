import { mapConcurrently } from "../concurrency/map-concurrently.ts";
import type { ObjectKeys, SourceName } from "../s3/object-keys.ts";
import type { ListedObject, ObjectStore } from "../s3/object-store.ts";
import type { KeptRecord, RetentionRecord } from "./source-retention.ts";

const readsAtOnce = 32;
/** Each list that misses the newest record means that another archive has just written one. */
const mostLists = 5;

/**
 * The records of how long sources' events stay. They are in the bucket, so a Source that vanished and a rebuilt NATS delete
 * nothing early.
 */
export class RetentionStore {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** The source's newest record; undefined if it never had another retention than the usual one. */
	of(source: SourceName): Promise<KeptRecord | undefined> {
		return this.#newestIn(this.#keys.retentionsOfSource(source));
	}

	/** Of all sources that have any. */
	async all(): Promise<KeptRecord[]> {
		const newest = new Map<string, ListedObject>();
		for await (const object of this.#store.list(this.#keys.allRetentions()))
			newest.set(object.key.slice(0, object.key.lastIndexOf("/") + 1), object);
		const records = await mapConcurrently(
			[...newest],
			readsAtOnce,
			async ([folder, object]) =>
				(await this.#read(object)) ?? this.#newestIn(folder),
		);
		return records.filter((record) => record !== undefined);
	}

	/**
	 * Writes the source's next record, unless another archive has written one of that number. Earlier records go, so that a
	 * Source that changes its mind all the time costs no other one anything.
	 */
	async write(number: number, record: RetentionRecord): Promise<boolean> {
		const key = this.#keys.retention(record, number);
		const text = JSON.stringify(record);
		const put = await this.#store.putNew(key, text, "application/json");
		const earlier: string[] = [];
		const prefix = this.#keys.retentionsOfSource(record);
		for await (const { key: each } of this.#store.list(prefix))
			if (each < key) earlier.push(each);
		await this.#store.remove(earlier);
		return put === "created";
	}

	/** Undefined if the folder is empty. A record that is gone was replaced by a newer one, or its source was deleted. */
	async #newestIn(folder: string): Promise<KeptRecord | undefined> {
		for (let list = 1; list <= mostLists; list++) {
			let newest: ListedObject | undefined;
			for await (const object of this.#store.list(folder)) newest = object;
			if (!newest) return undefined;
			const kept = await this.#read(newest);
			if (kept) return kept;
		}
		throw new Error(`The retention records in ${folder} keep changing`);
	}

	/** Undefined if the record is gone. */
	async #read({
		key,
		modifiedMs,
	}: ListedObject): Promise<KeptRecord | undefined> {
		const text = await this.#store.get(key);
		if (text === undefined) return undefined;
		const record: RetentionRecord = JSON.parse(text);
		if (record.version !== 1)
			throw new Error(
				`The retention record ${key} has version ${record.version}; this archive knows version 1. Upgrade archive.`,
			);
		return {
			record,
			number: Number(/(\d+)\.json$/.exec(key)?.[1]),
			modifiedMs,
		};
	}
}

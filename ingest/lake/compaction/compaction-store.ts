import type { ObjectKeys } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";
import {
	type CompactionRecord,
	readRecord,
	type SourceDate,
} from "./record.ts";

export class CompactionStore {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** Writes a record unless the date has one, and returns the record that is in the bucket. */
	async decide(record: CompactionRecord): Promise<CompactionRecord> {
		const key = this.#keys.compaction(record);
		const text = JSON.stringify(record);
		const written = await this.#store.putNew(key, text, "application/json");
		if (written === "created") return record;
		const existing = await this.read(key);
		if (!existing)
			throw new Error(`S3: ${key} existed and is gone. Trying again.`);
		return existing;
	}

	/** The date's record; undefined if the date isn't compacted. */
	of(date: SourceDate): Promise<CompactionRecord | undefined> {
		return this.read(this.#keys.compaction(date));
	}

	/** Whether an output of the date's compaction holds the events of the object with this key. */
	async hasReplaced(date: SourceDate, key: string): Promise<boolean> {
		const record = await this.of(date);
		const name = key.slice(key.lastIndexOf("/") + 1);
		return record?.outputs.some(({ inputs }) => inputs.includes(name)) ?? false;
	}

	async read(key: string): Promise<CompactionRecord | undefined> {
		const text = await this.#store.get(key);
		return text === undefined ? undefined : readRecord(key, text);
	}

	async list(): Promise<Map<string, ListedObject>> {
		const records = new Map<string, ListedObject>();
		for await (const object of this.#store.list(this.#keys.compactions()))
			records.set(object.key, object);
		return records;
	}
}

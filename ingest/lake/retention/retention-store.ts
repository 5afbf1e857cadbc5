import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import type { ObjectKeys, SourceName } from "../../archive/s3/object-keys.ts";
import type {
	ListedObject,
	ObjectStore,
} from "../../archive/s3/object-store.ts";
import { type NumberedRecord, NumberedRecords } from "./numbered-records.ts";
import type { KeptRecord, RetentionRecord } from "./source-retention.ts";

const readsAtOnce = 32;
const digits = 12;

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
			([folder, object]) => this.#newestIn(folder, object),
		);
		return records.filter((record) => record !== undefined);
	}

	/** Writes the source's next record. Returns false if another archive was first. */
	write(number: number, record: RetentionRecord): Promise<boolean> {
		const folder = this.#keys.retentionsOfSource(record);
		return this.#recordsIn(folder).write(number, record);
	}

	async #newestIn(
		folder: string,
		listed?: ListedObject,
	): Promise<KeptRecord | undefined> {
		const newest = await this.#recordsIn(folder).newest(listed);
		return newest && readRecord(folder, newest);
	}

	#recordsIn(folder: string): NumberedRecords {
		return new NumberedRecords(this.#store, folder, digits);
	}
}

function readRecord(
	folder: string,
	{ text, ...rest }: NumberedRecord,
): KeptRecord {
	const record: RetentionRecord = JSON.parse(text);
	if (record.version !== 1)
		throw new Error(
			`The retention record ${rest.number} in ${folder} has version ${record.version}; this archive knows version 1. Upgrade archive.`,
		);
	return { record, ...rest };
}

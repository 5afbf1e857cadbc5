import type { ObjectKeys, SourceName } from "../s3/object-keys.ts";
import type { ListedObject, ObjectStore } from "../s3/object-store.ts";

/** A source that is deleted for good, by its tombstone. */
export interface Tombstone extends SourceName {
	/** When the store took it, by the store's clock; milliseconds since the epoch. */
	sinceMs: number;
}

/**
 * The sources that are deleted for good. What a tombstone names is written no more and deleted wherever it turns up, so
 * that an archiver that slept through the deletion can't bring anything back. A tombstone stays for ever: it is small,
 * and its source key must never be taken for one that is in use.
 */
export class Tombstones {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;
	readonly #known = new Set<string>();
	#readAtMs = Number.NEGATIVE_INFINITY;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** Whether the source is deleted, as of the last time that the store was asked. */
	has({ account, sourceKey }: SourceName): boolean {
		return this.#known.has(`${account}/${sourceKey}`);
	}

	/** Deletes a source for good; nothing changes when it is already. */
	async add(source: SourceName): Promise<void> {
		const { account, sourceKey } = source;
		await this.#store.putNew(
			this.#keys.tombstone(source),
			JSON.stringify({ version: 1, account, sourceKey }),
			"application/json",
		);
		this.#known.add(`${account}/${sourceKey}`);
	}

	/** Asks the store which sources are deleted, unless it was asked within the last `maxAgeMs`. */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (performance.now() - this.#readAtMs < maxAgeMs) return;
		const atMs = performance.now();
		for await (const { account, sourceKey } of this.read())
			this.#known.add(`${account}/${sourceKey}`);
		this.#readAtMs = atMs;
	}

	/** All that are in the store. */
	async *read(): AsyncGenerator<Tombstone> {
		for await (const object of this.#store.list(this.#keys.tombstones())) {
			const tombstone = readTombstone(object);
			if (tombstone) yield tombstone;
		}
	}
}

function readTombstone({ key, modifiedMs }: ListedObject) {
	const [, account, sourceKey] =
		/\/account=([^/]+)\/source=([0-9a-f]+)\.json$/.exec(`/${key}`) ?? [];
	return account && sourceKey
		? { account, sourceKey, sinceMs: modifiedMs }
		: undefined;
}

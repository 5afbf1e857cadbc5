import type { SourceName } from "../s3/object-keys.ts";
import type { ListedObject, ObjectStore } from "../s3/object-store.ts";

export interface Tombstone extends SourceName {
	/** When the store took it, by the store's clock, milliseconds since the epoch. */
	sinceMs: number;
}

/**
 * The sources that are deleted for good. Archive doesn't write what a tombstone names, and deletes it wherever it appears,
 * so an archiver that slept through the deletion can't bring anything back. A tombstone stays forever: it is small, and
 * nobody may use its source key again.
 */
export class Tombstones {
	readonly #store: ObjectStore;
	readonly #known = new Set<string>();
	#readAtMs = Number.NEGATIVE_INFINITY;

	constructor(store: ObjectStore) {
		this.#store = store;
	}

	/** How many sources are known to be deleted. It never falls. */
	get count(): number {
		return this.#known.size;
	}

	/** Whether the source is deleted, as of the last {@link refresh}. */
	has({ account, sourceKey }: SourceName): boolean {
		return this.#known.has(`${account}/${sourceKey}`);
	}

	/** Marks a source as deleted for good. Repeating it changes nothing. */
	async add(source: SourceName): Promise<void> {
		const { account, sourceKey } = source;
		await this.#store.putNew(
			this.#store.keys.tombstone(source),
			JSON.stringify({ version: 1, account, sourceKey }),
			"application/json",
		);
		this.#known.add(`${account}/${sourceKey}`);
	}

	/** Reads the tombstones from the store, unless the last read is younger than `maxAgeMs`. */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (performance.now() - this.#readAtMs < maxAgeMs) return;
		const atMs = performance.now();
		for await (const { account, sourceKey } of this.read())
			this.#known.add(`${account}/${sourceKey}`);
		this.#readAtMs = atMs;
	}

	async *read(): AsyncGenerator<Tombstone> {
		for await (const object of this.#store.list(
			this.#store.keys.tombstones(),
		)) {
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

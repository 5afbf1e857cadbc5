import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import { NumberedLog } from "./numbered-log.ts";

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
	readonly #store: Store;
	readonly #log: NumberedLog<SourceName>;
	readonly #known = new Set<string>();
	#readAtMs = Number.NEGATIVE_INFINITY;

	constructor(store: Store) {
		this.#store = store;
		this.#log = new NumberedLog(store, store.keys.deletions());
	}

	/** How many sources are known to be deleted. It never falls. */
	get count(): number {
		return this.#known.size;
	}

	/** Whether the source is deleted, as of the last {@link refresh}. */
	has(source: SourceName): boolean {
		return this.#known.has(nameOf(source));
	}

	/** Marks a source as deleted for good, and tells all archives. Repeating it only tells them again. */
	async add({ account, sourceKey }: SourceName): Promise<void> {
		const source = { account, sourceKey };
		await this.#store.putNew(
			this.#store.keys.tombstone(source),
			JSON.stringify({ version: 1, ...source }),
			"application/json",
		);
		this.#known.add(nameOf(source));
		await this.#log.append(source);
	}

	/** Reads from the store what is new, unless the last read is younger than `maxAgeMs`. */
	async refresh(maxAgeMs = 0): Promise<void> {
		if (performance.now() - this.#readAtMs < maxAgeMs) return;
		const atMs = performance.now();
		const learn = (source: SourceName) => void this.#known.add(nameOf(source));
		await this.#log.follow({
			learn,
			learnAll: async () => {
				const listed = this.#store.list(this.#store.keys.tombstones());
				for await (const source of tombstonesIn(listed)) learn(source);
			},
		});
		this.#readAtMs = atMs;
	}

	/** The sources that were deleted within the last weeks ({@link file://./numbered-log.ts loggedDays}). One may come several times. */
	async *recent(): AsyncGenerator<Tombstone> {
		for await (const { entry, modifiedMs } of this.#log.entries())
			yield { ...entry, sinceMs: modifiedMs };
	}
}

function nameOf({ account, sourceKey }: SourceName): string {
	return `${account}/${sourceKey}`;
}

export async function* tombstonesIn(
	listed: AsyncIterable<ListedObject>,
): AsyncGenerator<Tombstone> {
	for await (const { key, modifiedMs } of listed) {
		const [, account, sourceKey] =
			/\/account=([^/]+)\/source=([0-9a-f]+)\.json$/.exec(`/${key}`) ?? [];
		if (account && sourceKey) yield { account, sourceKey, sinceMs: modifiedMs };
	}
}

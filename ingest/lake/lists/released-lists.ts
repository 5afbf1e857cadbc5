import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { DateFolder, SourceName } from "../../archive/s3/object-keys.ts";
import type { ListedObject } from "../../archive/s3/object-store.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { ReleaseStore } from "../release/release-store.ts";
import { listInParts } from "../retention/listing.ts";
import {
	type ListWriteOptions,
	type ListWrites,
	lineBytes,
} from "./list-writes.ts";
import { pathOf } from "./source-cursor.ts";

/** The name of the list of a date's released and imported rows. The other lists are named by their shards. */
const releasedList = "released";
/** Of an hour: 200 requests, and two for each source among them. */
const mostReleasesListed = 200_000;

/** What one look knows of a source. */
export interface ListPass {
	source: SourceName;
	isKept(group: DateFolder): boolean;
	writes: ListWrites;
}

/** The lists of what was released and imported, which belong to no shard. */
export class ReleasedLists {
	readonly #options: Pick<ListWriteOptions, "store" | "bucket"> & {
		tombstones: Tombstones;
	};
	readonly #releases: ReleaseStore;
	#changed: Set<string> | "all" = "all";

	constructor(
		options: Pick<ListWriteOptions, "store" | "bucket"> & {
			tombstones: Tombstones;
		},
	) {
		this.#options = options;
		this.#releases = new ReleaseStore(options.store);
	}

	/** Paths of sources whose releases were changed since {@link forgetChanged}; "all" before the first one. */
	async changed(): Promise<ReadonlySet<string> | "all"> {
		await this.#releases.log.follow({
			learn: (source) => {
				if (this.#changed !== "all") this.#changed.add(pathOf(source));
			},
			learnAll: async () => {
				this.#changed = "all";
			},
		});
		return this.#changed;
	}

	forgetChanged(): void {
		this.#changed = new Set();
	}

	/**
	 * Adds the source's lists that differ to the writes.
	 * @param added What is in the source's folder: records with numbers, and objects that all have names of one length.
	 * @param bytesOf lengths of the source's lists by their keys.
	 */
	async compare(
		added: readonly ListedObject[],
		bytesOf: ReadonlyMap<string, number>,
		{ source, isKept, writes }: ListPass,
	): Promise<void> {
		const { store, bucket } = this.#options;
		const byDate = Map.groupBy(
			added.filter(({ key }) => key.endsWith(".json")),
			({ key }) => dateOf(key),
		);
		for (const [date, records] of byDate) {
			const group = { ...source, date };
			if (!isKept(group)) continue;
			const key = store.keys.list(group, releasedList);
			const listedBytes = bytesOf.get(key) ?? 0;
			const sample = store.keys.released(group, 1, "0".repeat(16));
			if (records.length * lineBytes(bucket, sample) === listedBytes) continue;
			const objects = async () =>
				(await this.#releases.read({ records })).map(({ key }) => key);
			await writes.add({ key, listedBytes, objects });
		}
	}

	/** What is in a source's folder. */
	of(source: SourceName): Promise<ListedObject[]> {
		const { store } = this.#options;
		const releases = store.list(store.keys.releasesOfSource(source));
		return Array.fromAsync(releases);
	}

	/** Lists a source's releases and lists, and compares them. */
	async lookAt(pass: ListPass): Promise<void> {
		const { store, tombstones } = this.#options;
		const { source } = pass;
		if (tombstones.has(source)) return;
		const added = await this.of(source);
		const [first] = added;
		const prefix = store.keys.listsOfSource(source);
		const after = first && `${prefix}date=${dateOf(first.key)}`;
		const bytesOf = new Map<string, number>();
		for await (const { key, bytes } of store.list(prefix, after))
			bytesOf.set(key, bytes);
		await this.compare(added, bytesOf, pass);
	}

	/** Looks at a part of all sources with releases, and goes on there the next time. */
	async lookBack(pass: Omit<ListPass, "source">): Promise<void> {
		const { store } = this.#options;
		await listInParts(store, "released-lists", [store.keys.allReleases()], {
			mostListed: mostReleasesListed,
			work: async (some) => {
				for await (const source of this.#releases.sources(some))
					await this.lookAt({ source, ...pass });
			},
		});
	}
}

/** The date in a key of a release or a list. */
export function dateOf(key: string): UtcDate {
	return /\/date=([\d-]+)\//.exec(key)?.[1] ?? "";
}

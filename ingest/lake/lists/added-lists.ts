import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { ListedObject } from "../../../packages/bucket/object-store.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { nameOfSource } from "../../archive/ledger/ledger-index.ts";
import type { NumberedLog } from "../../archive/write/numbered-log.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import type { ListPass, ListPassOptions } from "./list-pass.ts";

const sourcesAtOnce = 8;

/** What brings objects to dates beside the cuts of shards, by records that say which objects count. */
export interface AddedObjects {
	/** Says which sources got a record. */
	log: Pick<NumberedLog<SourceName>, "follow">;
	/** Those that have any. */
	sources(): AsyncIterable<SourceName>;
	/** The records of each date, and the objects beside them, whose keys are all of one length. */
	ofSource(source: SourceName): Promise<Map<UtcDate, AddedToDate>>;
	/** The objects that the records name. */
	read(of: Pick<AddedToDate, "records">): Promise<{ key: string }[]>;
}

interface AddedToDate {
	records: ListedObject[];
	bytesOf: ReadonlyMap<string, number>;
}

interface AddedListsOptions extends Pick<ListPassOptions, "store"> {
	tombstones: Pick<Tombstones, "has">;
	added: AddedObjects;
	/** The name of each list. The other lists are named by their shards. */
	name: string;
}

/** The lists of what belongs to no shard. */
export class AddedLists {
	readonly #options: AddedListsOptions;
	/** Sources that got a record and have no list of it yet. */
	#changed: Map<string, SourceName> | "all" = "all";

	constructor(options: AddedListsOptions) {
		this.#options = options;
	}

	/** Has the next look compare the lists of all sources. */
	forget(): void {
		this.#changed = "all";
	}

	async look(pass: ListPass): Promise<void> {
		const { added, name } = this.#options;
		await added.log.follow({
			learn: (source) => {
				if (this.#changed !== "all")
					this.#changed.set(nameOfSource(source), source);
			},
			learnAll: async () => this.forget(),
		});
		const sources =
			this.#changed === "all"
				? await Array.fromAsync(added.sources())
				: [...this.#changed.values()];
		const before = pass.failures;
		await mapConcurrently(sources, sourcesAtOnce, (source) =>
			pass.attempt(`${name} lists of ${nameOfSource(source)}`, () =>
				this.#compare(source, pass),
			),
		);
		if (pass.failures === before) this.#changed = new Map();
	}

	async #compare(source: SourceName, pass: ListPass): Promise<void> {
		const { store, added, name, tombstones } = this.#options;
		if (tombstones.has(source)) return;
		const kept = [...(await added.ofSource(source))].filter(
			([date, { records }]) =>
				records.length > 0 && pass.isKept({ ...source, date }),
		);
		const [first] = kept;
		if (!first) return;
		const bytesOf = await pass.bytesOf(source, first[0]);
		for (const [date, { records, bytesOf: objects }] of kept) {
			const key = store.keys.list({ ...source, date }, name);
			const listedBytes = bytesOf.get(key) ?? 0;
			// A date may have a thousand records, and few of them are new.
			const [sample = ""] = objects.keys();
			const dated = { ...source, date };
			const hasLosses = pass.hasLosses(dated);
			if (!hasLosses && records.length * pass.lineBytes(sample) === listedBytes)
				continue;
			const named = (await added.read({ records })).map(({ key }) => key);
			const folder = store.keys.addedOfDate(dated);
			const left = hasLosses
				? await new AcceptedLosses(store).without(dated, folder, named)
				: named;
			await pass.write(key, left, listedBytes);
		}
	}
}

import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import type {
	AddedByDate,
	AddedEvents,
} from "../../../packages/contracts/ledger.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { NatsProgress } from "../../archive/write/nats-progress.ts";
import type { Tombstones } from "../../archive/write/tombstones.ts";
import { AcceptedLosses } from "../missing/accepted-losses.ts";
import { listInParts } from "../retention/listing.ts";
import { AdditionStore } from "./addition-store.ts";

/** 200 requests, and as many seconds or fewer. */
const mostListedAtOnce = 200_000;

export interface AddedLedgersOptions {
	progress: () => Promise<Pick<NatsProgress, "setAdded">>;
	store: Store;
	tombstones: Pick<Tombstones, "has">;
	log: Logger;
}

/**
 * Publishes how many events were released or imported, and how many are lost by a person's word. Counts from their records, so a
 * repeated one counts once.
 */
export class AddedLedgers {
	readonly #options: AddedLedgersOptions;
	readonly #additions: AdditionStore;
	readonly #acceptedLosses: AcceptedLosses;

	constructor(options: AddedLedgersOptions) {
		this.#options = options;
		this.#additions = new AdditionStore(options.store);
		this.#acceptedLosses = new AcceptedLosses(options.store);
	}

	/**
	 * Publishes all counts, or so many objects' if there are more: then the next call goes on there. Throws at the end if some failed.
	 */
	async publishAll(
		signal: AbortSignal,
		mostListed = mostListedAtOnce,
	): Promise<void> {
		const { store, log } = this.#options;
		const progress = await this.#options.progress();
		let failed = 0;
		const prefixes = [store.keys.allAdded(), store.keys.allAcceptedLosses()];
		const work = async (some: AsyncIterable<ListedObject>) => {
			for await (const source of this.#additions.sources(some)) {
				signal.throwIfAborted();
				try {
					await this.#publish(source, progress, false);
				} catch (error) {
					signal.throwIfAborted();
					failed++;
					log.warn(
						{ err: error, ...source },
						"can't count the released events of a source; going on with the others",
					);
				}
			}
		};
		await listInParts(store, "released-events", prefixes, { mostListed, work });
		if (failed > 0)
			throw new Error(
				`The released events of ${failed} ${failed === 1 ? "source" : "sources"} can't be counted`,
			);
	}

	/**
	 * Publishes what the records of a source say now. Returns it.
	 * @param options.anew reads all records, whatever is published.
	 */
	async publish(
		source: SourceName,
		{ anew = false } = {},
	): Promise<AddedByDate> {
		return this.#publish(source, await this.#options.progress(), anew);
	}

	async #publish(
		source: SourceName,
		progress: Pick<NatsProgress, "setAdded">,
		anew: boolean,
	): Promise<AddedByDate> {
		const { tombstones } = this.#options;
		const { account, sourceKey } = source;
		let released: AddedByDate = {};
		await progress.setAdded(sourceKey, async (published) => {
			const known = (!anew && published?.released) || {};
			released = await this.#count(source, known);
			const lost = await this.#acceptedLosses.ofSource(source);
			const isAny = Object.keys(lost).length > 0;
			return tombstones.has(source)
				? undefined
				: { version: 1, account, sourceKey, released, ...(isAny && { lost }) };
		});
		return released;
	}

	/** @param known what was counted before. Records stay as they are, so only those after them are read. */
	async #count(source: SourceName, known: AddedByDate): Promise<AddedByDate> {
		const dates = [...(await this.#additions.ofSource(source))].sort();
		const released: AddedByDate = {};
		for (const [date, { records }] of dates) {
			const releases = records.length;
			if (releases === 0) continue;
			const before = known[date];
			const isBefore =
				before?.imported !== undefined && before.releases <= releases;
			const { releases: from } = isBefore ? before : none;
			let { events, imported = 0 } = isBefore ? before : none;
			const more = records.slice(from);
			for (const record of await this.#additions.read({ records: more }))
				if (record.imported) imported += record.rows;
				else events += record.rows;
			released[date] = { events, imported, releases };
		}
		return released;
	}
}

const none: AddedEvents = { events: 0, releases: 0 };

import { closedThrough, type UtcDate } from "../../../contracts/utc-date.ts";
import { RequestFailure } from "../request/errors.ts";
import type { DateFolder, ObjectKeys, SourceName } from "../s3/object-keys.ts";
import type { ObjectStore } from "../s3/object-store.ts";
import { DateObjects } from "./date-objects.ts";
import type { LedgerIndex } from "./ledger-index.ts";

/** As {@link DateObjects.packed} has it. */
type Packed = [stream: string, packed: string][];

/** What the index says of one date. Nothing changes it, since the date was closed. */
interface DateLedger extends SourceName {
	version: 1;
	date: UtcDate;
	objects: Packed;
	quarantined: Packed;
}

/**
 * What the {@link LedgerIndex} says of the closed dates of sources whose events stay longer than it holds dates, one object
 * for each. Cut records go after a month, and the index's size must not grow with a year's events.
 */
export class DateLedgers {
	readonly #store: ObjectStore;
	readonly #keys: ObjectKeys;

	constructor(store: ObjectStore, keys: ObjectKeys) {
		this.#store = store;
		this.#keys = keys;
	}

	/** Writes what is missing. Returns how many. */
	async keep(
		index: LedgerIndex,
		staysLonger: (source: SourceName) => boolean,
	): Promise<number> {
		const { archivedThrough } = index;
		if (archivedThrough === undefined) return 0;
		const closed = closedThrough(Date.parse(archivedThrough));
		let written = 0;
		for (const source of index.sources()) {
			if (!staysLonger(source)) continue;
			const known = new Set(await this.datesOf(source));
			const { account, sourceKey, objects, quarantined } = source;
			const dates = new Set([...objects.keys(), ...quarantined.keys()]);
			for (const date of dates) {
				if (date > closed || known.has(date)) continue;
				const ledger: DateLedger = {
					version: 1,
					account,
					sourceKey,
					date,
					objects: [...(objects.get(date)?.packed() ?? [])],
					quarantined: [...(quarantined.get(date)?.packed() ?? [])],
				};
				const key = this.#keys.date(ledger);
				const text = JSON.stringify(ledger);
				await this.#store.putNew(key, text, "application/json");
				written++;
			}
		}
		return written;
	}

	/** The dates that have one, ascending. */
	async datesOf(source: SourceName): Promise<UtcDate[]> {
		const dates: UtcDate[] = [];
		const prefix = this.#keys.datesOfSource(source);
		for await (const { key } of this.#store.list(prefix))
			dates.push(/\/date=([\d-]+)\//.exec(key)![1]!);
		return dates;
	}

	/**
	 * The objects of all cuts of a date that the index doesn't hold. Throws {@link RequestFailure} LedgerMismatch if there are
	 * objects and nothing says what they should be: such a date is not empty.
	 */
	async require(group: DateFolder) {
		const key = this.#keys.date(group);
		const text = await this.#store.get(key);
		if (text === undefined) {
			const apart = { ...group, quarantined: true } as const;
			for (const folder of [group, apart].map((of) =>
				this.#keys.eventsOfDate(of),
			))
				for await (const _ of this.#store.list(folder))
					throw new RequestFailure(
						"LedgerMismatch",
						`There are objects in ${folder}, and the ledger of that date, ${key}, is missing`,
					);
			return { objects: () => undefined, quarantined: () => undefined };
		}
		const ledger: DateLedger = JSON.parse(text);
		if (ledger.version !== 1)
			throw new Error(
				`The ledger ${key} has version ${ledger.version}; this archive knows version 1. Upgrade archive.`,
			);
		return {
			objects: () => unpacked(ledger.objects),
			quarantined: () => unpacked(ledger.quarantined),
		};
	}
}

function unpacked(packed: Packed): DateObjects | undefined {
	return packed.length === 0 ? undefined : DateObjects.unpacked(packed);
}

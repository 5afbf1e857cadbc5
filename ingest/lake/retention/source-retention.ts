import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type {
	ListedObject,
	Store,
} from "../../../packages/bucket/object-store.ts";
import {
	isLonger,
	keptFrom,
	retainedDays,
	type SourceRetention,
} from "../../../packages/contracts/retention.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { mapConcurrently } from "../../../packages/fair/fair-limit.ts";
import { requireVersion } from "../request/requirements.ts";
import { type NumberedRecord, NumberedRecords } from "./numbered-records.ts";
import { hasBeenFor, type TimeWitnesses } from "./retention.ts";

/** Fewer days hold so long after they were asked for: time to notice a mistake. */
export const reprieveDays = 7;

/** What the bucket says about one source. The records of a source are numbered; the newest holds. */
export interface RetentionRecord extends SourceName {
	version: 1;
	days: number;
	/** Events of earlier dates may have been deleted before `days` was raised. */
	from: UtcDate;
	/** Fewer days, which hold once the record is {@link reprieveDays} old. */
	next?: number;
}

export interface KeptRecord {
	record: RetentionRecord;
	number: number;
	/** When the store took it, by its clock. */
	modifiedMs: number;
}

/**
 * The record that follows from the days that operator asks for; undefined if the newest one says it already.
 * @param firstEventDate Of the source, if it has events.
 */
export function recordFor(
	source: SourceName,
	wanted: number,
	newest: RetentionRecord | undefined,
	today: UtcDate,
	firstEventDate?: UtcDate,
): RetentionRecord | undefined {
	const days = newest?.days ?? retainedDays;
	const from = keptFrom(newest, today);
	const { account, sourceKey } = source;
	const base = { version: 1, account, sourceKey, from } as const;
	if (wanted === days)
		return newest?.next === undefined ? undefined : { ...base, days };
	if (isLonger(wanted, days)) {
		// Nothing was ever deleted, so older events can be imported.
		const isWhole = !newest && !(firstEventDate && firstEventDate < from);
		const first = isWhole ? keptFrom({ days: wanted }, today) : from;
		return { ...base, days: wanted, from: first };
	}
	return newest?.next === wanted ? undefined : { ...base, days, next: wanted };
}

/** The record that lowers the days of this one, once the date that people read in the Source's status has come, by all witnesses of time. */
export function loweredRecord(
	{ record: { next, ...record }, modifiedMs }: KeptRecord,
	witnesses: TimeWitnesses,
): RetentionRecord | undefined {
	const today = utcDate(Math.min(witnesses.nowMs, witnesses.storeNowMs));
	return next !== undefined &&
		today >= lowersOn(modifiedMs) &&
		hasBeenFor(reprieveDays, modifiedMs, witnesses)
		? { ...record, days: next }
		: undefined;
}

export function retentionOf({
	record,
	modifiedMs,
}: KeptRecord): SourceRetention {
	const { next, ...rest } = record;
	if (next === undefined) return rest;
	return { ...rest, next: { days: next, date: lowersOn(modifiedMs) } };
}

/** The date from which fewer days hold that were asked for at this time. */
function lowersOn(askedMs: number): UtcDate {
	return addDays(utcDate(askedMs), reprieveDays + 1);
}

const readsAtOnce = 32;
const digits = 12;

/**
 * The records of how long sources' events stay. They are in the bucket, so a Source that vanished and a rebuilt NATS delete
 * nothing early.
 */
export class RetentionStore {
	readonly #store: Store;
	/** Those that {@link all} has read, by their keys. A record never changes. */
	#known = new Map<string, KeptRecord>();
	/** Whether {@link all} has listed since this wrote a record. */
	#isListed = false;

	constructor(store: Store) {
		this.#store = store;
	}

	/** The source's newest record; undefined if it never had another retention than the usual one. */
	of(source: SourceName): Promise<KeptRecord | undefined> {
		return this.#newestIn(this.#store.keys.retentionsOfSource(source));
	}

	/**
	 * Of all sources that have any. Again, it reads only what is new.
	 * @param options.isAnew false if what was listed before is enough, unless this has written a record since.
	 */
	async all({ isAnew = true } = {}): Promise<KeptRecord[]> {
		if (this.#isListed && !isAnew) return [...this.#known.values()];
		this.#isListed = true;
		const newest = new Map<string, ListedObject>();
		for await (const object of this.#store.list(
			this.#store.keys.allRetentions(),
		))
			newest.set(object.key.slice(0, object.key.lastIndexOf("/") + 1), object);
		const records = await mapConcurrently(
			[...newest],
			readsAtOnce,
			async ([folder, object]) => {
				const known = this.#known.get(object.key);
				const record = known
					? { ...known, modifiedMs: object.modifiedMs }
					: await this.#newestIn(folder, object);
				return record && ([object.key, record] as const);
			},
		);
		this.#known = new Map(records.filter((record) => record !== undefined));
		return [...this.#known.values()];
	}

	/** Writes the source's next record. Returns false if another archive was first. */
	async write(number: number, record: RetentionRecord): Promise<boolean> {
		const folder = this.#store.keys.retentionsOfSource(record);
		const isNewest = await this.#recordsIn(folder).write(number, record);
		this.#isListed = false;
		return isNewest;
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
	const what = `The retention record ${rest.number} in ${folder}`;
	return { record: requireVersion(JSON.parse(text), what), ...rest };
}

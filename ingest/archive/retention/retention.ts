import { retainedDays } from "../../../contracts/ledger.ts";
import {
	addDays,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../contracts/utc-date.ts";
import type { ListedObject } from "../s3/object-store.ts";

/** Loads reach back to today − 30; a Run that began yesterday still reads the day before that (design §5). */
export const keptDays = retainedDays + 1;

/** What is known of the time. One clock alone deletes nothing: it may have jumped. */
export interface TimeWitnesses {
	/** This process's clock, milliseconds since the epoch. */
	nowMs: number;
	/** The store's clock, as late as it is known. */
	storeNowMs: number;
	/** The dates on which archive was at work, each noted in the store on that day. */
	daysSeen: readonly UtcDate[];
}

/** Whether an object of events is past its time: its date by both clocks, and its age (see {@link isAged}). */
export function isExpired(
	object: ListedObject,
	witnesses: TimeWitnesses,
): boolean {
	const date = /\/date=(\d{4}-\d\d-\d\d)\//.exec(object.key)?.[1];
	const today = utcDate(Math.min(witnesses.nowMs, witnesses.storeNowMs));
	return (
		date !== undefined &&
		date < addDays(today, -keptDays) &&
		isAged(object, witnesses)
	);
}

/**
 * The cut records of one stream that are past their time, given in the order of their keys. Never the newest: it says
 * where archiving goes on.
 */
export function expiredCuts(
	records: readonly ListedObject[],
	witnesses: TimeWitnesses,
): ListedObject[] {
	return records.slice(0, -1).filter((record) => isAged(record, witnesses));
}

/**
 * Whether the store wrote the object more than 32 days ago by both clocks, and 31 different days were seen since: clocks
 * that jump by a year have seen one day.
 */
export function isAged(
	{ modifiedMs }: ListedObject,
	{ nowMs, storeNowMs, daysSeen }: TimeWitnesses,
): boolean {
	const written = utcDate(modifiedMs);
	return (
		Math.min(nowMs, storeNowMs) - modifiedMs > (keptDays + 1) * dayMs &&
		daysSeen.filter((day) => day > written).length >= keptDays
	);
}

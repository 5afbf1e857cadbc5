import { retainedDays } from "../../../contracts/ledger.ts";
import {
	addDays,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../contracts/utc-date.ts";
import type { ListedObject } from "../s3/object-store.ts";

/** Runs load back to today − 30, and a Run that began yesterday still reads one day more. */
export const keptDays = retainedDays + 1;

/** What is known of the time. One clock alone deletes nothing, since it may have jumped. */
export interface TimeWitnesses {
	/** This process's clock, milliseconds since the epoch. */
	nowMs: number;
	/** The latest known time of the store's clock. */
	storeNowMs: number;
	/** The dates on which archive was at work. Each was noted in the store on that day. */
	daysSeen: readonly UtcDate[];
}

/** Whether an object with events has expired: by its date, which both clocks must confirm, and by {@link isAged}. */
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
 * The expired cut records of one stream, which are given in the order of their keys. Never the newest: it says where
 * archiving resumes.
 */
export function expiredCuts(
	records: readonly ListedObject[],
	witnesses: TimeWitnesses,
): ListedObject[] {
	return records.slice(0, -1).filter((record) => isAged(record, witnesses));
}

/**
 * Whether the object was written more than 32 days ago by both clocks, and archive was at work on 31 different days since.
 * Two clocks that jump by a year together have seen one day.
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

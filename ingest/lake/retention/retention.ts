import type { ListedObject } from "../../../packages/bucket/object-store.ts";
import {
	forever,
	retainedDays,
} from "../../../packages/contracts/retention.ts";
import {
	addDays,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import { folderOf } from "./listing.ts";

/** An object stays one day longer than Runs load it, since a Run that began yesterday still reads it. */
const graceDays = 1;

/** What is known of the time. One clock alone deletes nothing, since it may have jumped. */
export interface TimeWitnesses {
	/** This process's clock, milliseconds since the epoch. */
	nowMs: number;
	storeNowMs: number;
	/** The dates on which archive was at work. Each was noted in the store on that day. */
	daysSeen: readonly UtcDate[];
}

/**
 * Whether an object with events has expired: by its date, which both clocks must confirm, and by {@link isAged}.
 * @param days How long the source's events stay.
 */
export function isExpired(
	object: ListedObject,
	witnesses: TimeWitnesses,
	days = retainedDays,
): boolean {
	return (
		isOverdue(object.key, witnesses, days, graceDays) &&
		isAged(object, witnesses, days)
	);
}

/** Whether Runs don't load the date in the key any more, and haven't for `graceDays`. Both clocks must confirm it. */
export function isOverdue(
	key: string,
	{ nowMs, storeNowMs }: TimeWitnesses,
	days: number,
	graceDays = 0,
): boolean {
	const date = /\/date=(\d{4}-\d\d-\d\d)[/.]/.exec(key)?.[1];
	const today = utcDate(Math.min(nowMs, storeNowMs));
	return (
		date !== undefined &&
		days !== forever &&
		date < addDays(today, -(days + graceDays))
	);
}

/**
 * The expired cut records of streams, which are given in the order of their keys. Never a stream's newest: it says where archiving
 * resumes. The same of other records with numbers, which must not begin anew.
 */
export async function* expiredCuts(
	records: AsyncIterable<ListedObject>,
	witnesses: TimeWitnesses,
	days = retainedDays,
): AsyncGenerator<ListedObject> {
	let before: ListedObject | undefined;
	for await (const record of records) {
		const isOfSame = before && folderOf(before.key) === folderOf(record.key);
		if (before && isOfSame && isAged(before, witnesses, days)) yield before;
		before = record;
	}
}

/** Whether the object was written longer ago than the store removes it: the days, and the day that the store counts from. */
export function isAged(
	{ modifiedMs }: ListedObject,
	witnesses: TimeWitnesses,
	days = retainedDays,
): boolean {
	return (
		days !== forever &&
		Math.min(witnesses.nowMs, witnesses.storeNowMs) - modifiedMs >
			(days + graceDays + 1) * dayMs &&
		hasBeenFor(days + graceDays, modifiedMs, witnesses)
	);
}

/**
 * Whether an instant is more than so many days ago by both clocks, and archive was at work on as many different days since.
 * Two clocks that jump by a year together have seen one day.
 */
export function hasBeenFor(
	days: number,
	sinceMs: number,
	{ nowMs, storeNowMs, daysSeen }: TimeWitnesses,
): boolean {
	const since = utcDate(sinceMs);
	return (
		Math.min(nowMs, storeNowMs) - sinceMs > days * dayMs &&
		daysSeen.filter((day) => day > since).length >= days
	);
}

import type { DateFolder } from "../../../packages/bucket/object-keys.ts";
import { addDays, type UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { IndexedObject } from "../../archive/ledger/date-objects.ts";
import {
	foldersOf,
	type IndexedSource,
} from "../../archive/ledger/ledger-index.ts";

/**
 * A date that wasn't compacted within so many days stays as it is. Retention counts from the write of an object, so a later
 * compaction would prolong the life of its events.
 */
export const compactedDays = 7;

/** A date's events, or those of them in quarantine. */
export interface DueDate extends DateFolder {
	/** In the order of their cuts. Made when it is read: all due dates of a busy shard have millions. */
	readonly objects: IndexedObject[];
}

/**
 * The dates to compact, oldest first: closed, not older than a week, with at least `minObjects` objects, and without a
 * record.
 */
export function dueDates(
	sources: Iterable<IndexedSource>,
	closedThrough: UtcDate,
	minObjects: number,
	hasRecord: (folder: DateFolder) => boolean,
): DueDate[] {
	const oldest = addDays(closedThrough, 1 - compactedDays);
	const due: DueDate[] = [];
	for (const source of sources)
		for (const { folder, objects } of foldersOf(source)) {
			const { date } = folder;
			if (date < oldest || date > closedThrough) continue;
			if (objects.count < minObjects) continue;
			if (hasRecord(folder)) continue;
			due.push({
				...folder,
				get objects() {
					return [...objects].sort(byCut);
				},
			});
		}
	return due.sort((a, b) => compare(a.date, b.date));
}

function byCut(a: IndexedObject, b: IndexedObject): number {
	return compare(a.stream, b.stream) || a.first - b.first;
}

function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

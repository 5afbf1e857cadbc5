import { retainedDays } from "../../../contracts/ledger.ts";
import {
	addDays,
	datesBetween,
	type UtcDate,
} from "../../../contracts/utc-date.ts";

/**
 * The dates of a manifest, ascending: what was asked, clamped to the Source's first event, the retained days and the
 * snapshot's date (design §6). None for a source without events or a range that lies outside.
 */
export function manifestDates(
	asked: { start?: UtcDate; end?: UtcDate },
	firstEventDate: UtcDate | undefined,
	snapshotDate: UtcDate,
): UtcDate[] {
	if (firstEventDate === undefined) return [];
	const start = [
		asked.start ?? firstEventDate,
		firstEventDate,
		addDays(snapshotDate, -retainedDays),
	].reduce((a, b) => (a > b ? a : b));
	const end =
		asked.end !== undefined && asked.end < snapshotDate
			? asked.end
			: snapshotDate;
	return datesBetween(start, end);
}

import {
	datesBetween,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";

/**
 * The dates of a manifest, ascending: the requested range, clamped to the Source's first event, the first date that is
 * kept and the snapshot's date. Empty for a source without events, and for a range outside these bounds.
 */
export function manifestDates(
	requested: { start?: UtcDate; end?: UtcDate },
	firstEventDate: UtcDate | undefined,
	keptFrom: UtcDate,
	snapshotDate: UtcDate,
): UtcDate[] {
	if (firstEventDate === undefined) return [];
	const start = [
		requested.start ?? firstEventDate,
		firstEventDate,
		keptFrom,
	].reduce((a, b) => (a > b ? a : b));
	const end =
		requested.end !== undefined && requested.end < snapshotDate
			? requested.end
			: snapshotDate;
	return datesBetween(start, end);
}

import {
	datesBetween,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { DateReleases } from "../release/release-store.ts";

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

/** The store's clock and NATS's may differ so much. A date that is loaded once more does no harm. */
const clocksMs = 20 * 60_000;

/**
 * The first date of a manifest that includes every date from `earliest` on whose events were released after `since`. A load
 * takes all dates from there on.
 */
export function startWithReleases(
	{
		start,
		earliest,
		since,
	}: { start: UtcDate; earliest: UtcDate; since: string },
	releases: ReadonlyMap<UtcDate, DateReleases>,
): UtcDate {
	const after = Date.parse(since) - clocksMs;
	const dirty = [...releases]
		.filter(
			([date, { records }]) =>
				date >= earliest &&
				records.some(({ modifiedMs }) => modifiedMs > after),
		)
		.map(([date]) => date);
	return [start, ...dirty].sort()[0]!;
}

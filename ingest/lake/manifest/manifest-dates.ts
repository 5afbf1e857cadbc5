import type { HeldAdditions } from "../../../packages/contracts/manifest.ts";
import {
	datesBetween,
	earlierMs,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { DateAdditions } from "../addition/addition-store.ts";

/**
 * The dates of a manifest, ascending: the requested range and the dates `also`, clamped to the Source's first event, the first
 * date that is kept, the end of the range and the snapshot's date. Empty for a source without events, and for a range outside
 * these bounds.
 */
export function manifestDates(
	requested: { start?: UtcDate; end?: UtcDate; also?: readonly UtcDate[] },
	firstEventDate: UtcDate | undefined,
	keptFrom: UtcDate,
	snapshotDate: UtcDate,
): UtcDate[] {
	if (firstEventDate === undefined) return [];
	const first = firstEventDate > keptFrom ? firstEventDate : keptFrom;
	const start =
		requested.start !== undefined && requested.start > first
			? requested.start
			: first;
	const end =
		requested.end !== undefined && requested.end < snapshotDate
			? requested.end
			: snapshotDate;
	const also = (requested.also ?? []).filter(
		(date) => date >= first && date <= end,
	);
	return [...new Set([...also, ...datesBetween(start, end)])].sort();
}

/**
 * Of the dates before `start`, from `earliest` on, those that a load as of `since` may lack releases or imports of, by the
 * clocks alone.
 */
export function perhapsAdded(
	{
		start,
		earliest,
		since,
	}: Pick<HeldAdditions, "earliest" | "since"> & { start: UtcDate },
	additions: ReadonlyMap<UtcDate, DateAdditions>,
): UtcDate[] {
	const after = earlierMs(since);
	return [...additions]
		.filter(
			([date, { records }]) =>
				date >= earliest &&
				date < start &&
				records.some(({ modifiedMs }) => modifiedMs > after),
		)
		.map(([date]) => date);
}

/** Those of the dates that have more records than a load has counted. A date's records are numbered, and none goes before its date. */
export function addedSince(
	dates: readonly UtcDate[],
	additions: ReadonlyMap<UtcDate, DateAdditions>,
	counted: Record<UtcDate, number>,
): UtcDate[] {
	const now = countAdditions(additions);
	return dates.filter((date) => (now[date] ?? 0) > (counted[date] ?? 0));
}

export function countAdditions(
	additions: ReadonlyMap<UtcDate, DateAdditions>,
): Record<UtcDate, number> {
	return Object.fromEntries(
		[...additions]
			.filter(([, { records }]) => records.length > 0)
			.map(([date, { records }]) => [date, records.length]),
	);
}

/** With other records that change what a date's rows are. */
export function withRecords(
	added: ReadonlyMap<UtcDate, DateAdditions>,
	others: ReadonlyMap<UtcDate, DateAdditions["records"]> | undefined,
): ReadonlyMap<UtcDate, DateAdditions> {
	if (!others) return added;
	const all = new Map(added);
	for (const [date, more] of others) {
		const { records = [], bytesOf = new Map() } = added.get(date) ?? {};
		all.set(date, { records: [...records, ...more], bytesOf });
	}
	return all;
}

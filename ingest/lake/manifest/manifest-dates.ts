import { earlierMs } from "../../../packages/contracts/clocks.ts";
import type { ManifestRequest } from "../../../packages/contracts/manifest.ts";
import {
	datesBetween,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { SourceErasures } from "../erasure/erasure-store.ts";
import type { DateReleases } from "../release/release-store.ts";

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

/** What a table holds of the releases and imports of a Source's dates. */
type HeldReleases = Pick<
	NonNullable<ManifestRequest["releases"]>,
	"earliest" | "since"
> & { start: UtcDate };

/**
 * Of the dates before `start`, from `earliest` on, those that a load as of `since` may lack releases or imports of, by the
 * clocks alone.
 */
export function perhapsReleased(
	{ start, earliest, since }: HeldReleases,
	releases: ReadonlyMap<UtcDate, DateReleases>,
): UtcDate[] {
	const after = earlierMs(since);
	return [...releases]
		.filter(
			([date, { records }]) =>
				date >= earliest &&
				date < start &&
				records.some(({ modifiedMs }) => modifiedMs > after),
		)
		.map(([date]) => date);
}

/** Those of the dates that have more records than a load has counted. A date's records are numbered, and none goes before its date. */
export function releasedSince(
	dates: readonly UtcDate[],
	releases: ReadonlyMap<UtcDate, DateReleases>,
	counted: Record<UtcDate, number>,
): UtcDate[] {
	const now = countReleases(releases);
	return dates.filter((date) => (now[date] ?? 0) > (counted[date] ?? 0));
}

export function countReleases(
	releases: ReadonlyMap<UtcDate, DateReleases>,
): Record<UtcDate, number> {
	return Object.fromEntries(
		[...releases]
			.filter(([, { records }]) => records.length > 0)
			.map(([date, { records }]) => [date, records.length]),
	);
}

/** The records of releases and of erasures, which both change what a date's rows are. */
export function withErasures(
	released: ReadonlyMap<UtcDate, DateReleases>,
	erasures: SourceErasures | undefined,
): ReadonlyMap<UtcDate, DateReleases> {
	if (!erasures) return released;
	const all = new Map(released);
	for (const [date, more] of erasures.dates) {
		const { records = [], bytesOf = new Map() } = released.get(date) ?? {};
		all.set(date, { records: [...records, ...more], bytesOf });
	}
	return all;
}

import { sumOfDeviations } from "./deviations.ts";
import type { SourceLedger } from "./ledger.ts";
import { retainedDays } from "./retention.ts";
import { addDays, type UtcDate, utcDate } from "./utc-date.ts";

/** What all shards of a Source have of it, as one ledger; undefined for none. */
export function sumOfLedgers(
	ledgers: readonly SourceLedger[],
): SourceLedger | undefined {
	const [first, ...others] = ledgers;
	if (!first || others.length === 0) return first;
	const { version, account, sourceKey } = first;
	const times = inOrder(ledgers.map((one) => one.archivedThrough));
	const archivedThrough = times.at(-1)!;
	// A former shard has nothing new of the Source, so its ledger still counts the last dates of then.
	const oldest = addDays(utcDate(Date.parse(archivedThrough)), -retainedDays);
	const deviations = sumOfDeviations(
		ledgers.flatMap((one) =>
			one.lastEventTime < oldest ? [] : (one.deviations ?? []),
		),
	);
	const quarantined = sumByDate(
		oldest,
		ledgers.map((one) => one.quarantined ?? {}),
	);
	return {
		version,
		account,
		sourceKey,
		firstEventDate: inOrder(ledgers.map((one) => one.firstEventDate))[0]!,
		lastEventTime: inOrder(ledgers.map((one) => one.lastEventTime)).at(-1)!,
		archivedThrough,
		archived: sumByDate(
			oldest,
			ledgers.map((one) => one.archived),
		),
		...(Object.keys(quarantined).length > 0 && { quarantined }),
		...(deviations && { deviations }),
	};
}

function sumByDate(
	oldest: UtcDate,
	all: readonly Record<UtcDate, number>[],
): Record<UtcDate, number> {
	const sum: Record<UtcDate, number> = {};
	for (const date of inOrder(all.flatMap((one) => Object.keys(one))))
		if (date >= oldest)
			sum[date] = all.reduce((rows, one) => rows + (one[date] ?? 0), 0);
	return sum;
}

/** Dates, and times from Date.toISOString, sort as strings. */
function inOrder(texts: readonly string[]): string[] {
	return [...texts].sort();
}

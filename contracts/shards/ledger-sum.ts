import type { SourceLedger } from "../ledger.ts";
import type { UtcDate } from "../utc-date.ts";
import { sumOfDeviations } from "./deviations.ts";

/** What all shards of a Source have of it, as one ledger; undefined for none. */
export function sumOfLedgers(
	ledgers: readonly SourceLedger[],
): SourceLedger | undefined {
	const [first, ...others] = ledgers;
	if (!first || others.length === 0) return first;
	const { version, account, sourceKey } = first;
	const deviations = sumOfDeviations(
		ledgers.flatMap((one) => one.deviations ?? []),
	);
	const quarantined = sumByDate(ledgers.map((one) => one.quarantined ?? {}));
	return {
		version,
		account,
		sourceKey,
		firstEventDate: inOrder(ledgers.map((one) => one.firstEventDate))[0]!,
		lastEventTime: inOrder(ledgers.map((one) => one.lastEventTime)).at(-1)!,
		// A former shard has nothing new of the Source.
		archivedThrough: inOrder(ledgers.map((one) => one.archivedThrough)).at(-1)!,
		archived: sumByDate(ledgers.map((one) => one.archived)),
		...(Object.keys(quarantined).length > 0 && { quarantined }),
		...(deviations && { deviations }),
	};
}

function sumByDate(
	all: readonly Record<UtcDate, number>[],
): Record<UtcDate, number> {
	const sum: Record<UtcDate, number> = {};
	for (const date of inOrder(all.flatMap((one) => Object.keys(one))))
		sum[date] = all.reduce((rows, one) => rows + (one[date] ?? 0), 0);
	return sum;
}

/** Dates, and times from Date.toISOString, sort as strings. */
function inOrder(texts: readonly string[]): string[] {
	return [...texts].sort();
}

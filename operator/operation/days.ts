import { retainedDays } from "../../contracts/ledger.ts";
import { addDays, type UtcDate, utcDate } from "../../contracts/utc-date.ts";
import type { Operation } from "../../crds/generated/types.ts";

interface Days {
	start: UtcDate;
	end: UtcDate;
}

/** The days whose events an Operation reads. A plan is tried on a week's events, and quarantine is looked at whole. */
export function daysOf({ spec }: Operation, now: number): Days {
	if (spec.dates) return spec.dates;
	return spec.type === "Inspect" ? keptDays(now) : last(defaultDays, now);
}

/** All days whose events are kept. */
export function keptDays(now: number): Days {
	return last(retainedDays + 1, now);
}

const defaultDays = 7;

function last(days: number, now: number): Days {
	const end = utcDate(now);
	return { start: addDays(end, 1 - days), end };
}

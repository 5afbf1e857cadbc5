import type { Operation, Source } from "../../crds/generated/types.ts";
import { keptFrom } from "../../packages/contracts/retention.ts";
import {
	addDays,
	type UtcDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import { retentionIn } from "../archive/ledgers.ts";

interface Days {
	start: UtcDate;
	end: UtcDate;
}

/** The days whose events an Operation reads. A plan is tried on a week's events, and quarantine is looked at whole. */
export function daysOf(
	{ spec }: Operation,
	source: Source | undefined,
	now: number,
): Days {
	if (spec.dates) return spec.dates;
	if (["Inspect", "Export", "Import"].includes(spec.type))
		return keptDays(source, now);
	const end = utcDate(now);
	return { start: addDays(end, 1 - defaultDays), end };
}

/** All days whose events are kept. */
export function keptDays(source: Source | undefined, now: number): Days {
	const end = utcDate(now);
	return { start: keptFrom(retentionIn(source), end), end };
}

const defaultDays = 7;

import type {
	Layout,
	PipelineLastSuccess,
	PipelineSpec,
	RunDates,
	RunSpec,
} from "../../crds/generated/types.ts";
import type {
	AskedDates,
	ManifestRequest,
} from "../../packages/contracts/manifest.ts";
import { keptFrom } from "../../packages/contracts/retention.ts";
import {
	addDays,
	maxClockDifferenceMs,
	type UtcDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import { isSameTable } from "./warehouse.ts";

/**
 * Why the operator itself ends a Run, and what to do. docs/reference/errors.md is generated from this table. How a Job ends
 * without a result: operator/jobs/outcome.ts.
 */
export const runErrors = {
	PendingDeadlineExceeded:
		"The Run waited too long for something that Tidemill can't change; the message says for what. Change that, or raise the Pipeline's spec.pendingDeadlineSeconds, then start a new Run.",
	DatesNeedDateColumn:
		"Start a Run without spec.dates, or add Date to the Pipeline's spec.table.columns.",
	DatesNotRetained:
		"Start a Run whose spec.dates are among the days that the message names, or change the Pipeline's spec.dateRange to such days.",
} as const;

/**
 * The dates to ask archive for; archive begins at the first event's date. None if start is after end. Without an end, the last
 * is the date of archive's snapshot: the operator's clock may not have reached it.
 */
export type DatesToAsk = AskedDates & { start: UtcDate } & Pick<
		ManifestRequest,
		"releases"
	>;

/** Of a Source's status. */
type Retention = Parameters<typeof keptFrom>[0];

export type DateProblem = { code: keyof typeof runErrors; message: string };

/**
 * The days that a Run loads. FullReload: the whole window. Incremental: from the first date that wasn't closed at the
 * snapshot of the last successful Run, less the overwrite period; the whole window if there was no such Run or the layout
 * has changed or `full` says so.
 * @param now in milliseconds since the epoch, by a clock that may differ from archive's.
 * @param retention How long the Source's events stay; undefined for the usual time.
 * @param asked What the Run asks for. `full` together with `dates`: the table turned out to lack the days around them.
 */
export function planDates(
	{ dateRange, overwritePeriodDays }: PipelineSpec,
	layout: Layout,
	lastSuccess: PipelineLastSuccess | undefined,
	{ dates, full }: Pick<RunSpec, "dates" | "full">,
	now: number,
	retention?: Retention,
): DatesToAsk | { problem: DateProblem } {
	// Archive keeps to the dates of its own clock, whichever of the two is behind.
	const retainedFrom = keptFrom(retention, utcDate(now - maxClockDifferenceMs));
	const latestDate = utcDate(now + maxClockDifferenceMs);
	const chosen = dates && planChosen(dates, layout, retainedFrom, latestDate);
	if (chosen && (!full || "problem" in chosen)) return chosen;

	const { end } = dateRange;
	const whole: DatesToAsk = {
		extent: "Whole",
		start: latest([retainedFrom, dateRange.start ?? retainedFrom]),
		...(end !== "Today" && { end: chosen ? latest([end, chosen.end]) : end }),
	};
	if (chosen) return { ...whole, start: earliest([whole.start, chosen.start]) };
	const gone =
		end !== "Today" && end < retainedFrom
			? rangeNotRetained(dateRange, retainedFrom, latestDate)
			: undefined;
	const canContinue =
		!full &&
		layout.strategy === "Incremental" &&
		lastSuccess &&
		isSameLayout(lastSuccess.layout, layout);
	if (!canContinue) return gone ?? whole;
	// It lacks days of its range, and no Run can load them any more.
	if (gone && lastSuccess.closedThrough < end) return gone;
	const start = addDays(lastSuccess.closedThrough, 1 - overwritePeriodDays);
	if (start <= whole.start) return whole;
	const { snapshotTime: since, runUID: run, reloads } = lastSuccess;
	const releases = {
		...{ earliest: whole.start, since },
		...(run && { run }),
		...(reloads && { reloads }),
	};
	return { ...whole, extent: "Rest", start, releases };
}

function planChosen(
	{ start, end }: RunDates,
	layout: Layout,
	retainedFrom: UtcDate,
	latestDate: UtcDate,
): (DatesToAsk & { end: UtcDate }) | { problem: DateProblem } {
	if (layout.strategy === "FullReload")
		return {
			problem: {
				code: "DatesNeedDateColumn",
				message:
					"Without the column Date, a Run replaces the whole table, so it can't load spec.dates alone. Create a Run without spec.dates, or add Date to the Pipeline's spec.table.columns.",
			},
		};
	const from = latest([start, retainedFrom]);
	if (from <= end && from <= latestDate)
		return { extent: "Chosen", start: from, end };
	return {
		problem: {
			code: "DatesNotRetained",
			message: `spec.dates is ${start} to ${end}, and no events are kept for these days. Choose dates from ${retainedFrom} to ${latestDate}.`,
		},
	};
}

function rangeNotRetained(
	{ start, end }: PipelineSpec["dateRange"],
	retainedFrom: UtcDate,
	latestDate: UtcDate,
): { problem: DateProblem } {
	const range =
		start === undefined ? `ends on ${end}` : `is ${start} to ${end}`;
	return {
		problem: {
			code: "DatesNotRetained",
			message: `The Pipeline's spec.dateRange ${range}, and no events are kept for these days. Choose dates from ${retainedFrom} to ${latestDate}.`,
		},
	};
}

/** The order of columns does not matter. They imply the strategy. */
export function isSameLayout(a: Layout, b: Layout): boolean {
	return (
		a.sourceKey === b.sourceKey &&
		isSameTable(a, b) &&
		a.quarantine === b.quarantine &&
		a.filter === b.filter &&
		a.eventTypes === b.eventTypes &&
		a.columns.toSorted().join() === b.columns.toSorted().join()
	);
}

function latest(dates: UtcDate[]): UtcDate {
	return dates.toSorted().pop()!;
}

function earliest(dates: UtcDate[]): UtcDate {
	return dates.toSorted()[0]!;
}

import { retainedDays } from "../../contracts/ledger.ts";
import { addDays, type UtcDate } from "../../contracts/utc-date.ts";
import type {
	Layout,
	PipelineLastSuccess,
	PipelineSpec,
	RunDates,
} from "../../crds/generated/types.ts";

export interface DatePlan {
	/** First and last date to ask archive for; archive begins at the first event's date. None if start is after end. */
	start: UtcDate;
	end: UtcDate;
}

export type DateProblem = { code: string; message: string };

/**
 * The days that a Run loads. FullReload: the whole window. Incremental: from the first date that wasn't closed at the
 * snapshot of the last successful Run, less the overwrite period; the whole window if there was no such Run or the layout
 * has changed.
 * @param chosen The Run's `spec.dates`.
 */
export function planDates(
	{ dateRange, overwritePeriodDays }: PipelineSpec,
	layout: Layout,
	lastSuccess: PipelineLastSuccess | undefined,
	chosen: RunDates | undefined,
	today: UtcDate,
): DatePlan | { problem: DateProblem } {
	const retainedFrom = addDays(today, -retainedDays);
	if (chosen) return planChosen(chosen, layout, retainedFrom, today);

	const starts = [retainedFrom];
	if (dateRange.start) starts.push(dateRange.start);
	if (
		layout.strategy === "Incremental" &&
		lastSuccess &&
		isSameLayout(lastSuccess.layout, layout)
	)
		starts.push(addDays(lastSuccess.closedThrough, 1 - overwritePeriodDays));
	return {
		start: latest(starts),
		end: dateRange.end === "Today" ? today : earliest([dateRange.end, today]),
	};
}

function planChosen(
	{ start, end }: RunDates,
	layout: Layout,
	retainedFrom: UtcDate,
	today: UtcDate,
): DatePlan | { problem: DateProblem } {
	if (layout.strategy === "FullReload")
		return {
			problem: {
				code: "DatesNeedDateColumn",
				message:
					"Without the column Date, a Run replaces the whole table, so it can't load spec.dates alone. Create a Run without spec.dates, or add Date to the Pipeline's spec.table.columns.",
			},
		};
	const plan = {
		start: latest([start, retainedFrom]),
		end: earliest([end, today]),
	};
	if (plan.start <= plan.end) return plan;
	return {
		problem: {
			code: "DatesNotRetained",
			message: `spec.dates is ${start} to ${end}, and no events are kept for these days. Choose dates from ${retainedFrom} to ${today}.`,
		},
	};
}

/** The order of columns does not matter. */
function isSameLayout(a: Layout, b: Layout): boolean {
	return (
		a.sourceKey === b.sourceKey &&
		a.destination === b.destination &&
		a.table === b.table &&
		a.strategy === b.strategy &&
		a.columns.toSorted().join() === b.columns.toSorted().join()
	);
}

function latest(dates: UtcDate[]): UtcDate {
	return dates.toSorted().at(-1)!;
}

function earliest(dates: UtcDate[]): UtcDate {
	return dates.toSorted()[0]!;
}

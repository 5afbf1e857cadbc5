import type { Pipeline } from "../../crds/generated/types.ts";
import { runsPerDay } from "./schedule.ts";
import type { Target, TargetProblem } from "./target.ts";

/** BigQuery's limit on load jobs of one table, failed ones included (cloud.google.com/bigquery/quotas#load_jobs). */
const maxLoadJobsPerDay = 1_500;

/**
 * Why a schedule that can be parsed would run into BigQuery's quota, some time every day; undefined when it wouldn't. A Run
 * loads the days of its overwrite period and today, by a job each.
 */
export function loadJobsProblem(
	{ spec: { schedule, overwritePeriodDays } }: Pipeline,
	{ access, strategy }: Target,
): TargetProblem | undefined {
	if (access.input.type !== "BigQuery") return undefined;
	const runs = runsPerDay(schedule);
	const jobs =
		runs * (strategy === "Incremental" ? overwritePeriodDays + 1 : 1);
	if (jobs <= maxLoadJobsPerDay) return undefined;
	return {
		reason: "TooManyLoadJobs",
		message: `${runs} runs a day with overwritePeriodDays ${overwritePeriodDays} would make ${jobs} load jobs a day; BigQuery takes ${maxLoadJobsPerDay} for a table. Run less often, or lower spec.overwritePeriodDays.`,
	};
}

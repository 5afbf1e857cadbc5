import type { Pipeline } from "../../crds/generated/types.ts";
import { runsPerDay } from "../../crds/schedule/schedule.ts";
import type { LoadTarget, TargetProblem } from "./target.ts";

/** BigQuery's daily limit on load jobs for a table, including failed ones (cloud.google.com/bigquery/quotas#load_jobs). */
const maxLoadJobsPerDay = 1_500;

/** Why a schedule would exceed BigQuery's quota. A Run makes one load job for each day of its overwrite period and today. */
export function quotaProblem(
	{ spec: { schedule, overwritePeriodDays } }: Pipeline,
	{ access, strategy }: LoadTarget,
): TargetProblem | undefined {
	if (access.input.type !== "BigQuery") return undefined;
	const runs = runsPerDay(schedule);
	const jobs =
		runs * (strategy === "Incremental" ? overwritePeriodDays + 1 : 1);
	if (jobs <= maxLoadJobsPerDay) return undefined;
	return {
		reason: "TooManyLoadJobs",
		message: `${runs} runs a day with overwritePeriodDays ${overwritePeriodDays} would make ${jobs} load jobs a day. BigQuery allows ${maxLoadJobsPerDay} for a table. Run less often, or lower spec.overwritePeriodDays.`,
	};
}

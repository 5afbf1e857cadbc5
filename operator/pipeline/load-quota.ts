import type { Pipeline } from "../../crds/generated/types.ts";
import { runsPerDay } from "../../crds/schedule.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { LoadTarget, TargetProblem } from "./target.ts";

/** Why a schedule would load a table more often than its warehouse allows. A Run makes one load job for each day of its overwrite period and today. */
export function quotaProblem(
	{ spec: { schedule, overwritePeriodDays } }: Pipeline,
	{ access, strategy }: LoadTarget,
): TargetProblem | undefined {
	const { type } = access.input;
	const most = warehouses.get(type)?.loadsPerTableAndDay ?? Infinity;
	const runs = runsPerDay(schedule);
	const jobs =
		runs * (strategy === "Incremental" ? overwritePeriodDays + 1 : 1);
	if (jobs <= most) return undefined;
	return {
		reason: "TooManyLoadJobs",
		message: `${runs} runs a day with overwritePeriodDays ${overwritePeriodDays} would make ${jobs} load jobs a day. ${type} allows ${most} for a table. Run less often, or lower spec.overwritePeriodDays.`,
	};
}

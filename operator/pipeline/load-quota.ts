import type { Pipeline } from "../../crds/generated/types.ts";
import { runsPerDay } from "../../crds/schedule.ts";
import { anyTypesTableOf } from "../../crds/table-name.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { LoadTarget, TargetProblem } from "./target.ts";

/**
 * The part of a quota that a schedule leaves to retries and to Runs by hand. What they really use doesn't count here: one
 * large backfill would stop the schedule for a day, and a Run that finds the quota used up waits by itself (decision 39).
 */
const spareShare = 1 / 25;

const minutesOfDay = 24 * 60;

/**
 * Why a schedule would load tables more often than their warehouse allows. A Run makes up to one load job for each day of its
 * overwrite period and today, in each of its tables. One quota is each table's own, and another is that of all of them: there each
 * table counts that a type of event may get.
 */
export function quotaProblem(
	{ spec: { schedule, overwritePeriodDays } }: Pipeline,
	{ access, strategy, tableName, quarantine, rejected, eventTypes }: LoadTarget,
): TargetProblem | undefined {
	const { type } = access.input;
	const { loadsPerTableAndDay, loadsPerDay = Number.POSITIVE_INFINITY } =
		warehouses.get(type) ?? {};
	if (loadsPerTableAndDay === undefined) return undefined;
	const others = [quarantine, rejected].flatMap((other) =>
		other ? `"${other.tableName}"` : [],
	);
	const own = eventTypes ? anyTypesTableOf(tableName) : tableName;
	const { tables: typed = [], free = 0 } = eventTypes ?? {};
	const count = (eventTypes ? typed.length + free + 1 : 1) + others.length;
	const isOfAll = loadsPerDay / count < loadsPerTableAndDay;
	const allowed = isOfAll ? loadsPerDay : loadsPerTableAndDay;
	const counted = isOfAll ? count : 1;
	const spare = allowed * spareShare;
	const fitting = (jobsOfRun: number) =>
		Math.floor((allowed - spare) / (jobsOfRun * counted));
	const runs = runsPerDay(schedule);
	const ofRun = strategy === "Incremental" ? overwritePeriodDays + 1 : 1;
	if (runs <= fitting(ofRun)) return undefined;
	const shortest = Math.ceil(minutesOfDay / fitting(ofRun));
	const tables =
		others.length > 0 || eventTypes
			? `${isOfAll ? `up to ${count}` : "each of"} tables ${[`"${own}"`, ...others].join(" and ")}`
			: `table "${own}"`;
	const lower =
		runs <= fitting(1)
			? `, or spec.overwritePeriodDays of at most ${fitting(runs) - 1}`
			: "";
	return {
		reason: "TooManyLoadJobs",
		message: `${runs} runs a day with overwritePeriodDays ${overwritePeriodDays} would make ${runs * ofRun * counted} load jobs a day in ${tables}. ${type} allows ${allowed} for ${isOfAll ? "all tables" : "a table"}, of which ${spare} stay for retries and Runs by hand. The shortest interval that fits is ${intervalOf(shortest)}: set it in spec.schedule.interval${lower}${isOfAll ? ", or lower spec.table.maxEventTypes" : ""}.`,
	};
}

/** As `spec.schedule.interval` has it. */
function intervalOf(minutes: number): string {
	const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
	return `${hours > 0 ? `${hours}h` : ""}${rest > 0 ? `${rest}m` : ""}`;
}

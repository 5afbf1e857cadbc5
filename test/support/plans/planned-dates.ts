import type { Layout, Pipeline } from "../../../crds/generated/types.ts";
import { planDates } from "../../../operator/pipeline/plan-dates.ts";

/** The dates that the operator plans for the next Run into an unchanged table; undefined if there are none. */
export function plannedDates(
	{ spec, status }: Pipeline,
	layout: Layout,
	today: string,
) {
	const now = Date.parse(`${today}T12:00:00Z`);
	const plan = planDates(spec, layout, status?.lastSuccess, {}, now);
	if ("problem" in plan) throw new Error(plan.problem.message);
	const { start } = plan;
	const end = [plan.end ?? today, today].sort()[0]!;
	return start <= end ? { start, end } : undefined;
}

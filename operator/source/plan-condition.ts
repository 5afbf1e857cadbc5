import { findCondition } from "../../packages/kube/conditions.ts";
import { remainingGraceMs } from "../reconcile/grace.ts";
import type { FindingOf } from "../reconcile/reasons.ts";
import type { SourceState } from "./state.ts";

/**
 * Whether the plan, as it is now, validates the Source's events. The condition PlanCurrent stands as long as the Source names a
 * TrackingPlan.
 */
export function planFindingOf(
	{ source, plan, trackingPlan }: SourceState,
	now: number,
): FindingOf<"Source", "PlanCurrent"> | undefined {
	if (!plan) return undefined;
	const { name, version } = plan;
	const lastGood =
		version === undefined
			? ""
			: ` The last good version, ${version}, goes on validating.`;
	if (!trackingPlan)
		return {
			// People apply several resources at once.
			status: remainingGraceMs(source, now) > 0 ? "Unknown" : "False",
			reason: "PlanNotFound",
			message: `There is no TrackingPlan "${name}" in namespace "${source.metadata.namespace}". Create it, or correct spec.webhook.trackingPlanRef.${lastGood}`,
		};
	const { metadata, status } = trackingPlan;
	const ready = findCondition(status?.conditions, "Ready");
	if (!ready || status?.observedGeneration !== metadata.generation)
		return {
			status: "Unknown",
			reason: "PlanPending",
			message: `TrackingPlan "${name}" is being compiled.${lastGood}`,
		};
	if (ready.status !== "True")
		return {
			status: "False",
			reason: "PlanInvalid",
			message: `TrackingPlan "${name}" is invalid; its condition Ready says why.${lastGood}`,
		};
	if (metadata.deletionTimestamp)
		return {
			status: "False",
			reason: "PlanDeleting",
			message: `TrackingPlan "${name}" is being deleted. It goes on validating until this Source doesn't name it any more.`,
		};
	return status?.version === version
		? {
				status: "True",
				reason: "Current",
				message: `TrackingPlan "${name}" validates the events by its version ${version}.`,
			}
		: {
				status: "Unknown",
				reason: "PlanPending",
				message: `The version ${status?.version} of TrackingPlan "${name}" is being published.${lastGood}`,
			};
}

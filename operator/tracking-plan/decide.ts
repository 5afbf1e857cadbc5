import { isDeepStrictEqual } from "node:util";
import type { TrackingPlan } from "../../crds/generated/types.ts";
import { findCondition, setCondition } from "../../kube/conditions.ts";
import type { ReportAction } from "../reconcile/actions.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";

export type TrackingPlanAction = ReportAction<
	TrackingPlan,
	KubeEventReason<"TrackingPlan">
>;

/** @param fault What is wrong with one of the schemas; undefined if all are valid. */
export function decide(
	plan: TrackingPlan,
	fault: string | undefined,
	now: number,
): TrackingPlanAction[] {
	const { metadata, spec, status: before } = plan;
	if (metadata.deletionTimestamp) return [];
	const observedGeneration = metadata.generation ?? 0;
	const eventTypes = spec.events?.length ?? 0;
	const reason: Reason<"TrackingPlan"> =
		fault === undefined ? "Valid" : "InvalidSchema";
	const message = fault ?? "Every schema of the plan is valid.";
	const conditions = setCondition(
		before?.conditions,
		{
			type: "Ready",
			status: fault === undefined ? "True" : "False",
			reason,
			message,
			observedGeneration,
		},
		now,
	);
	const status = { observedGeneration, eventTypes, conditions };
	if (isDeepStrictEqual(status, before)) return [];
	const ready = findCondition(before?.conditions, "Ready");
	const isNews = ready?.reason !== reason || ready.message !== message;
	const severity = fault === undefined ? "Normal" : "Warning";
	return [
		{ type: "writeStatus", status },
		...(isNews
			? [{ type: "recordKubeEvent", severity, reason, message } as const]
			: []),
	];
}

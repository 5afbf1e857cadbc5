import { isDeepStrictEqual } from "node:util";
import type {
	TrackingPlan,
	TrackingPlanStatus,
} from "../../crds/generated/types.ts";
import { inUseFinalizer } from "../../crds/labels.ts";
import {
	type Condition,
	findCondition,
	setConditions,
} from "../../packages/kube/conditions.ts";
import type { FinalizerAction, ReportAction } from "../reconcile/actions.ts";
import type {
	FindingsOf,
	KubeEventReason,
	Reason,
} from "../reconcile/reasons.ts";
import type { TrackingPlanState } from "./state.ts";

export type TrackingPlanAction =
	| FinalizerAction
	| ReportAction<TrackingPlan, KubeEventReason<"TrackingPlan">>;

export function decide(
	state: TrackingPlanState,
	now: number,
): TrackingPlanAction[] {
	const { plan, sources } = state;
	const finalizers = decideFinalizer(state);
	// Without the finalizer it is gone.
	if (plan.metadata.deletionTimestamp && sources.length === 0)
		return finalizers;
	const status = statusOf(state, now);
	if (isDeepStrictEqual(status, plan.status)) return finalizers;
	return [
		...finalizers,
		{ type: "writeStatus", status },
		...kubeEventsOf(plan.status?.conditions, status.conditions!),
	];
}

/** While a Source names the plan, it can't go: the Source would lose what validates its events. */
function decideFinalizer({
	plan: { metadata },
	sources,
}: TrackingPlanState): TrackingPlanAction[] {
	const finalizers = metadata.finalizers ?? [];
	const wanted = sources.length > 0;
	if (finalizers.includes(inUseFinalizer) === wanted) return [];
	// Nobody can add one to what is being deleted (metadata.finalizers, API reference).
	if (wanted && metadata.deletionTimestamp) return [];
	const others = finalizers.filter((name) => name !== inUseFinalizer);
	return [
		{
			type: "setFinalizers",
			finalizers: wanted ? [...others, inUseFinalizer] : others,
		},
	];
}

function statusOf(
	{ plan, fault, version, sources }: TrackingPlanState,
	now: number,
): TrackingPlanStatus {
	const { metadata, spec, status: before } = plan;
	const observedGeneration = metadata.generation ?? 0;
	const conditions: FindingsOf<"TrackingPlan"> = {
		Ready: fault
			? {
					status: "False",
					reason: fault.reason,
					message: `${fault.message}${consequence(version, sources)}`,
				}
			: {
					status: "True",
					reason: "Valid",
					message: "Every schema of the plan is valid.",
				},
		InUse: metadata.deletionTimestamp
			? {
					status: "True",
					reason: "NamedBySources",
					message: `The plan is deleted once no Source names it in spec.webhook.trackingPlanRef. Now ${listed(sources)}.`,
				}
			: undefined,
	};
	return {
		observedGeneration,
		eventTypes: spec.events?.length ?? 0,
		...(version !== undefined && { version }),
		usedBy: sources.length,
		conditions: setConditions(
			before?.conditions,
			conditions,
			observedGeneration,
			now,
		),
	};
}

function consequence(version: string | undefined, sources: string[]): string {
	if (sources.length === 0) return "";
	return version === undefined
		? " Until the plan is valid, senders to its Sources get 503."
		: ` The last good version, ${version}, goes on validating.`;
}

function listed(sources: string[]): string {
	const shown = sources.slice(0, 10).map((name) => `"${name}"`);
	const more = sources.length - shown.length;
	const names = more > 0 ? [...shown, `${more} more`] : shown;
	return sources.length === 1
		? `Source ${names} does`
		: `these Sources do: ${names.join(", ")}`;
}

function kubeEventsOf(
	before: Condition[] | undefined,
	after: Condition[],
): TrackingPlanAction[] {
	return after
		.filter(({ type, reason, message }) => {
			const known = findCondition(before, type);
			return known?.reason !== reason || known.message !== message;
		})
		.map(({ type, status, reason, message }) => ({
			type: "recordKubeEvent",
			severity: type === "Ready" && status === "True" ? "Normal" : "Warning",
			reason:
				type === "InUse"
					? "DeletionWaitsForSources"
					: (reason as Reason<"TrackingPlan">),
			message,
		}));
}

import type { TrackingPlan } from "../../crds/generated/types.ts";
import {
	type ControllerLoop,
	specChanged,
} from "../../packages/kube/reconcile/controller.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { planNamesOf } from "../reconcile/informers.ts";
import { createResourceLoop } from "../reconcile/resource-loop.ts";
import { notReady } from "../reconcile/while-permitted.ts";
import { decide, type TrackingPlanAction } from "./decide.ts";
import type { PlanVersions, PublishedPlans } from "./plan-versions.ts";
import { SchemaCheck } from "./schema-check.ts";
import { readTrackingPlan, type TrackingPlanState } from "./state.ts";

/**
 * Compiles TrackingPlans, keeps the last good version of each for the routes of the Sources that name it, and says what is
 * wrong. The loop doesn't run yet.
 */
export function createTrackingPlanController(
	context: OperatorContext & { plans: PlanVersions; routes: PublishedPlans },
): ControllerLoop {
	const { informers, plans } = context;
	const deps = { ...context, check: new SchemaCheck(), compiled: new Map() };
	const loop = createResourceLoop<
		TrackingPlan,
		TrackingPlanState,
		TrackingPlanAction
	>(context, {
		name: "tracking-plan",
		known: informers.trackingPlans,
		verb: "Validate",
		notPermitted: notReady({}),
		read: (plan) => readTrackingPlan(deps, plan),
		decide,
		objectIn: ({ plan }) => plan,
		onDecision(key) {
			const { namespace, name } = key;
			if (informers.trackingPlans.get(namespace, name)) return;
			deps.compiled.delete(textOf(key));
			// Its last good version goes on validating for those that name it.
			if (informers.sources.ofTrackingPlan(namespace, name).length === 0)
				plans.set(key, undefined);
		},
	});
	// Not on status changes: a plan may be large. A deletion raises the generation.
	loop.watch(informers.trackingPlans, undefined, specChanged);
	loop.watch(informers.configMaps, ({ metadata }) =>
		informers.trackingPlans
			.ofConfigMap(metadata.namespace!, metadata.name)
			.map(keyOf),
	);
	loop.watch(
		informers.sources,
		(source) => planNamesOf(source).map((name) => ({ ...keyOf(source), name })),
		specChanged,
	);
	return loop;
}

import {
	ControllerLoop,
	specChanged,
} from "../../packages/kube/reconcile/controller.ts";
import { keyOf, textOf } from "../../packages/kube/resource.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { planNamesOf } from "../reconcile/informers.ts";
import { tellRefusal } from "../reconcile/refusals.ts";
import {
	notReady,
	wakeByPermission,
	whilePermitted,
} from "../reconcile/while-permitted.ts";
import { aboutPlan, applyTrackingPlan } from "./apply.ts";
import { decide } from "./decide.ts";
import type { PlanVersions, PublishedPlans } from "./plan-versions.ts";
import { SchemaCheck } from "./schema-check.ts";
import { readTrackingPlan, type TrackingPlanMeans } from "./state.ts";

/**
 * Compiles TrackingPlans, keeps the last good version of each for the routes of the Sources that name it, and says what is
 * wrong. The loop doesn't run yet.
 */
export function createTrackingPlanController(
	context: OperatorContext & { plans: PlanVersions; routes: PublishedPlans },
): ControllerLoop {
	const { informers, plans, log } = context;
	const means: OperatorContext & TrackingPlanMeans = {
		...context,
		check: new SchemaCheck(),
		compiled: new Map(),
	};
	const loop = new ControllerLoop(
		{
			name: "tracking-plan",
			reconcile: async (key) => {
				const { namespace, name } = key;
				const plan = informers.trackingPlans.get(namespace, name);
				if (!plan) {
					means.compiled.delete(textOf(key));
					// Its last good version goes on judging for those that name it.
					if (informers.sources.ofTrackingPlan(namespace, name).length === 0)
						plans.set(key, undefined);
					return undefined;
				}
				const state = await readTrackingPlan(means, plan);
				await applyTrackingPlan(context, plan, decide(state, Date.now()));
				return undefined;
			},
			tellRefusal: ({ namespace, name }, refusal) =>
				tellRefusal(
					context,
					{ ...aboutPlan, type: "Ready" },
					informers.trackingPlans.get(namespace, name),
					refusal,
				),
		},
		{
			log,
			around: whilePermitted(context, informers.trackingPlans, notReady({})),
		},
	);
	wakeByPermission(context.permissions, informers.trackingPlans, loop);
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

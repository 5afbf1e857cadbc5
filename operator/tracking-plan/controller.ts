import {
	ControllerLoop,
	specChanged,
} from "../../kube/reconcile/controller.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { applyTrackingPlan } from "./apply.ts";
import { decide } from "./decide.ts";
import { SchemaCheck } from "./schema-check.ts";

/** Says whether a TrackingPlan's schemas are valid, which admission can't judge. The loop doesn't run yet. */
export function createTrackingPlanController(
	context: OperatorContext,
): ControllerLoop {
	const { informers, log } = context;
	const check = new SchemaCheck();
	const loop = new ControllerLoop(
		{
			name: "tracking-plan",
			reconcile: async ({ namespace, name }) => {
				const plan = informers.trackingPlans.get(namespace, name);
				if (!plan) return undefined;
				const fault = await check.faultOf(plan.spec);
				const actions = decide(plan, fault, Date.now());
				await applyTrackingPlan(context, plan, actions);
				return undefined;
			},
		},
		{ log },
	);
	// Not on status changes: compiling hundreds of schemas takes a while.
	loop.watch(informers.trackingPlans, undefined, specChanged);
	return loop;
}

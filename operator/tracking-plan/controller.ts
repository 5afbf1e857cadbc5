import {
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import {
	ControllerLoop,
	specChanged,
} from "../../kube/reconcile/controller.ts";
import { applyActions } from "../reconcile/actions.ts";
import type { ControllerFactory } from "../reconcile/context.ts";
import { decide, type TrackingPlanAction } from "./decide.ts";
import { schemaFault } from "./schema-fault.ts";

/** Says of TrackingPlans whether their schemas are valid, which no admission can judge. */
export const createTrackingPlanController: ControllerFactory = (context) => {
	const { informers, log } = context;
	const loop = new ControllerLoop(
		{
			name: "tracking-plan",
			reconcile: async ({ namespace, name }) => {
				const plan = informers.trackingPlans.get(namespace, name);
				if (!plan) return undefined;
				const actions = decide(plan, schemaFault(plan.spec), Date.now());
				return applyActions<TrackingPlan, TrackingPlanAction>(
					context,
					{ kind: trackingPlanKind, verb: "Validate" },
					plan,
					actions,
				);
			},
		},
		{ log },
	);
	// Compiling hundreds of schemas takes its time, and the plan's own status is no reason to.
	loop.watch(informers.trackingPlans, undefined, specChanged);
	return loop;
};

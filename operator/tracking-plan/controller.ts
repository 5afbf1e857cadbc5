import {
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import type { ControllerFactory, OperatorContext } from "../context.ts";
import { ControllerLoop, specChanged } from "../kube/controller.ts";
import { writeStatus } from "../kube/status-writer.ts";
import { fieldManager } from "../labels.ts";
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
				await apply(context, plan, actions);
				return undefined;
			},
		},
		{ log },
	);
	// Compiling hundreds of schemas takes its time, and the plan's own status is no reason to.
	loop.watch(informers.trackingPlans, undefined, specChanged);
	return loop;
};

async function apply(
	{ client, events }: OperatorContext,
	plan: TrackingPlan,
	actions: TrackingPlanAction[],
): Promise<void> {
	for (const action of actions)
		if (action.type === "writeStatus")
			await writeStatus<TrackingPlan>(
				client,
				trackingPlanKind,
				plan,
				action.status,
				fieldManager,
			);
		else
			events.record(trackingPlanKind, plan, {
				type: action.severity,
				reason: action.reason,
				action: "Validate",
				note: action.message,
			});
}

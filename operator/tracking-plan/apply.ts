import {
	type TrackingPlan,
	trackingPlanKind,
} from "../../crds/generated/types.ts";
import { report, setFinalizers } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import type { TrackingPlanAction } from "./decide.ts";

export const aboutPlan = { kind: trackingPlanKind, verb: "Validate" };

/** Does what was decided. */
export async function applyTrackingPlan(
	context: OperatorContext,
	read: TrackingPlan,
	actions: TrackingPlanAction[],
): Promise<void> {
	let plan = read;
	for (const action of actions)
		if (action.type === "setFinalizers")
			plan = await setFinalizers<TrackingPlan>(
				context.client,
				trackingPlanKind,
				plan,
				action.finalizers,
			);
		else plan = await report(context, aboutPlan, plan, action);
}

import { destinationKind } from "../../crds/generated/types.ts";
import type { Result } from "../../kube/reconcile/controller.ts";
import { keyOf } from "../../kube/resource.ts";
import { removeJob, startJob } from "../job/apply.ts";
import type { JobSlots } from "../job/slots.ts";
import { report } from "../reconcile/actions.ts";
import type { OperatorContext } from "../reconcile/context.ts";
import { type DestinationAction, decideRefused } from "./decide.ts";
import type { DestinationState } from "./state.ts";

export const aboutDestination = { kind: destinationKind, verb: "Check" };

/** Does what was decided. If Kubernetes refuses a check, that leads to a further decision. */
export async function applyDestination(
	context: OperatorContext & { slots: JobSlots },
	state: DestinationState,
	actions: DestinationAction[],
): Promise<Result | undefined> {
	const { client, slots } = context;
	let { destination } = state;
	let result: Result | undefined;
	for (const action of actions)
		switch (action.type) {
			case "startCheck": {
				const { check } = action;
				const refusal = await startJob(client, check);
				if (refusal === undefined) break;
				slots.release({ kind: "Destination", ...keyOf(destination) });
				return applyDestination(
					context,
					{ ...state, destination },
					decideRefused(destination, check, refusal, Date.now()),
				);
			}
			case "removeCheck": {
				const { job } = action;
				await removeJob(client, destination, {
					job,
					secretName: job.metadata.name,
				});
				break;
			}
			case "lookAgain":
				result = { requeueAfterMs: action.afterMs };
				break;
			default:
				destination = await report(
					context,
					aboutDestination,
					destination,
					action,
				);
		}
	return result;
}

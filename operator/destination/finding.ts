import { isDeepStrictEqual } from "node:util";
import type {
	Destination,
	DestinationLastCheck,
	DestinationStatus,
} from "../../crds/generated/types.ts";
import {
	type ConditionStatus,
	findCondition,
	setCondition,
} from "../../packages/kube/conditions.ts";
import { placeText, type QueuePlace } from "../jobs/slots.ts";
import type { ReportAction } from "../reconcile/actions.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";

/** What a look at a Destination has found. */
export interface Finding {
	status: ConditionStatus;
	reason: Reason<"Destination">;
	message: string;
	lastCheck?: DestinationLastCheck;
}

export const verified: Finding = {
	status: "True",
	reason: "Verified",
	message: "A check from inside the namespace could write.",
};

export const checking = (message = "The check is running."): Finding => ({
	status: "Unknown",
	reason: "Checking",
	message,
});

export const queued = (place: QueuePlace): Finding => ({
	status: "Unknown",
	reason: "Queued",
	message: `The check waits for its turn: ${placeText(place)}`,
});

/** The status with this finding and the KubeEvent about it; nothing if the status has it already. */
export function tell(
	destination: Destination,
	{ lastCheck = destination.status?.lastCheck, ...found }: Finding,
	now: number,
): ReportAction<Destination, KubeEventReason<"Destination">>[] {
	const before = destination.status;
	const observedGeneration = destination.metadata.generation ?? 0;
	const status: DestinationStatus = {
		observedGeneration,
		phase: phases[found.status],
		...(lastCheck && { lastCheck }),
		conditions: setCondition(
			before?.conditions,
			{ type: "Ready", observedGeneration, ...found },
			now,
		),
	};
	if (isDeepStrictEqual(status, before)) return [];
	const ready = findCondition(before?.conditions, "Ready");
	const news =
		ready?.status !== found.status ||
		ready.reason !== found.reason ||
		ready.message !== found.message;
	return [
		{ type: "writeStatus", status },
		...(news
			? [
					{
						type: "recordKubeEvent",
						severity: found.status === "False" ? "Warning" : "Normal",
						reason: found.reason,
						message: found.message,
					} as const,
				]
			: []),
	];
}

const phases = { True: "Ready", False: "Error", Unknown: "Checking" } as const;

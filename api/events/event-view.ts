import type { FoundEvent, StoredEvent } from "../../contracts/stored-event.ts";
import type { JsonObject } from "../http/operation.ts";

/** An event in a list. */
export function eventView({
	eventID,
	time,
	type,
	kind,
	bytes,
	state,
	violations,
}: StoredEvent): JsonObject {
	return {
		eventId: eventID,
		time,
		...(type !== undefined && { type }),
		kind,
		bytes,
		state,
		...(violations && { violations }),
	};
}

/** One event: what is known of it, and where it is. */
export function foundEventView(
	source: string,
	{
		violations,
		otherViolations,
		plan,
		planVersion,
		stage,
		frames,
		object,
		storedTime,
		released,
		...head
	}: Omit<FoundEvent, "headers">,
): JsonObject {
	return {
		...eventView(head),
		source,
		...(plan !== undefined && { trackingPlan: plan, planVersion }),
		...(violations && { violations }),
		...(otherViolations !== undefined && { otherViolations }),
		stage,
		...(frames && { frames }),
		...(object !== undefined && { object }),
		storedTime,
		...(released && { released }),
	};
}

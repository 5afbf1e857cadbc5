import type { EventHead } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import type { PlanOutcome } from "../plan/tracking-plans.ts";
import type { AcceptedHead } from "../request/request-head.ts";
import { newEventId } from "./event-id.ts";

/**
 * Makes the event of an accepted request. One clock reading gives its id and its timestamp, so that its date never disagrees.
 *
 * @param kind of its body.
 * @param key digest of its idempotency key.
 * @param planned what its Source's plan says about it; undefined without a plan.
 */
export function newEvent(
	{ route, headers }: AcceptedHead,
	kind: ContentKind,
	nowMs: number,
	key: string | undefined,
	planned?: PlanOutcome,
): EventHead {
	return {
		id: newEventId(nowMs),
		receivedAtMs: nowMs,
		sourceKey: route.sourceKey,
		account: route.account,
		kind,
		headers,
		violations: planned?.violations ?? "",
		...(planned?.isQuarantined && { quarantined: true }),
		key,
	};
}

import type { EventHead } from "../../wire/frame.ts";
import { newEventId } from "./event-id.ts";
import type { AcceptedHead } from "./request-head.ts";

/**
 * Makes the event of an accepted request. One clock reading gives its id and its timestamp, so that its date never disagrees.
 *
 * @param key digest of its idempotency key.
 */
export function newEvent(
	{ route, kind, headers }: AcceptedHead,
	nowMs: number,
	key: string | undefined,
): EventHead {
	return {
		id: newEventId(nowMs),
		receivedAtMs: nowMs,
		sourceKey: route.sourceKey,
		account: route.account,
		kind,
		headers,
		violations: "",
		key,
	};
}

import type { ContentKind, EventHead } from "../../wire/frame.ts";
import { newEventId } from "./event-id.ts";
import type { AcceptedHead } from "./request-head.ts";

/**
 * Makes the event of an accepted request. One clock reading gives its id and its timestamp, so that its date never disagrees.
 *
 * @param kind of its body.
 * @param key digest of its idempotency key.
 */
export function newEvent(
	{ route, headers }: AcceptedHead,
	kind: ContentKind,
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

import type { IncomingHttpHeaders } from "node:http";
import type { EventHead } from "../../wire/frame.ts";
import { newEventId } from "./event-id.ts";
import type { AcceptedHead } from "./request-head.ts";
import { senderKey } from "./sender-key.ts";

/**
 * Makes the event of an accepted request. One clock reading gives its id and its timestamp, so that its date never disagrees.
 *
 * @param signedKey the key of a Source whose key is the signature.
 */
export function newEvent(
	{ route, kind, headers: captured }: AcceptedHead,
	headers: IncomingHttpHeaders,
	body: Uint8Array,
	nowMs: number,
	signedKey: string | undefined,
): EventHead {
	return {
		id: newEventId(nowMs),
		receivedAtMs: nowMs,
		sourceKey: route.sourceKey,
		account: route.account,
		kind,
		headers: captured,
		violations: "",
		key: signedKey ?? senderKey(route, headers, body),
	};
}

import { randomFillSync } from "node:crypto";
// uuid: the field's RFC 9562 implementation. It gets its random bytes in blocks, because one call per id costs more than the rest.
import { v7 } from "uuid";
import type { EventHead } from "../../wire/frame.ts";
import type { ContentKind } from "../../wire/frame-event.ts";
import type { PlanOutcome } from "../plan/tracking-plans.ts";
import type { AcceptedHead } from "../request/request-head.ts";

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

const block = Buffer.allocUnsafe(16 * 512);
let at = block.length;

/** Makes a UUIDv7 (RFC 9562 §5.7) of this instant, 16 bytes. */
export function newEventId(nowMs: number): Buffer {
	if (at === block.length) {
		randomFillSync(block);
		at = 0;
	}
	const random = block.subarray(at, at + 16);
	at += 16;
	return v7({ msecs: nowMs, random }, Buffer.allocUnsafe(16));
}

/** The text of an id, with its hyphens (RFC 9562 §4). */
const idText = Buffer.from("00000000-0000-0000-0000-000000000000");
/** Where the text has the two digits of each byte. */
const digitsAt = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const digits = Buffer.from("0123456789abcdef");

/** The text of an id (RFC 9562 §4), made in one piece: uuid's own `stringify` joins it from pieces, which takes more time and memory. */
export function eventIdText(id: Uint8Array): string {
	for (let i = 0; i < 16; i++) {
		const [byte, at] = [id[i]!, digitsAt[i]!];
		idText[at] = digits[byte >> 4]!;
		idText[at + 1] = digits[byte & 15]!;
	}
	return idText.toString("latin1");
}

import { stringify } from "uuid";
import type { TailedEvent } from "../../../packages/contracts/event-tail.ts";
import type { ValidationRecord } from "../../../packages/contracts/tracking-plan.ts";
import type { ScannedEvent } from "../../wire/frame-scan.ts";

const maxBodyBytes = 8 * 1024;

/** What a tail shows of an event. @param withBody also the beginning of its body. */
export function tailedEvent(
	sequence: number,
	{ event, index }: ScannedEvent,
	withBody: boolean,
): TailedEvent {
	const { body, violations: judged } = event;
	const { type, violations = [] }: Partial<ValidationRecord> = judged
		? JSON.parse(judged)
		: {};
	const kinds = [...new Set(violations.map(({ kind }) => kind))];
	return {
		sequence,
		index,
		eventID: stringify(event.id),
		time: new Date(event.receivedAtMs).toISOString(),
		...(type !== undefined && { type }),
		kind: event.kind,
		bytes: body.length,
		state: event.quarantined ? "quarantined" : "accepted",
		...(kinds.length > 0 && { violations: kinds }),
		...(withBody && bodyOf(body)),
	};
}

function bodyOf(body: Uint8Array): Pick<TailedEvent, "body" | "isBodyCut"> {
	// Whole characters of UTF-8: what is cut off in the middle of one is left out.
	const text = new TextDecoder().decode(body.subarray(0, maxBodyBytes), {
		stream: true,
	});
	return {
		body: text,
		...(body.length > maxBodyBytes && { isBodyCut: true as const }),
	};
}

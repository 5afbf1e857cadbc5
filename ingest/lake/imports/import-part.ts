import { isUtf8 } from "node:buffer";
import { type UtcDate, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { SourceName } from "../../archive/s3/object-keys.ts";
import { decodeFrame } from "../../wire/frame.ts";
import type { FrameEvent } from "../../wire/frame-event.ts";
import { areHeaders } from "../../wire/imported-headers.ts";
import { RequestFailure } from "../request/errors.ts";

/**
 * The events of a part, by date. A Job in the account's namespace made it, so it may be anything. Throws
 * {@link RequestFailure} ImportInvalid, unless each event could be one of the source that was received on a date that is kept.
 */
export function eventsOfPart(
	bytes: Uint8Array,
	{ account, sourceKey }: SourceName,
	kept: { from: UtcDate; to: UtcDate },
): Map<UtcDate, FrameEvent[]> {
	const byDate = new Map<UtcDate, FrameEvent[]>();
	for (const event of frameOf(bytes).events) {
		const date = utcDate(event.receivedAtMs);
		const isRight =
			event.account === account &&
			event.sourceKey === sourceKey &&
			!event.quarantined &&
			event.key === undefined &&
			event.violations === "" &&
			date >= kept.from &&
			date <= kept.to &&
			hasTime(event) &&
			isUtf8(event.body) &&
			(event.headers === "" || areHeaders(event.headers));
		if (!isRight) throw invalid("an event that is none of the source");
		const events = byDate.get(date) ?? [];
		byDate.set(date, events);
		events.push(event);
	}
	return byDate;
}

function frameOf(bytes: Uint8Array) {
	const { buffer, byteOffset, byteLength } = bytes;
	const length =
		byteLength < 4 ? 0 : new DataView(buffer, byteOffset).getUint32(0);
	try {
		return decodeFrame(bytes.subarray(4, 4 + length));
	} catch (error) {
		throw invalid((error as Error).message, error);
	}
}

/** UUIDv7 with the same clock reading (RFC 9562 §5.7): lookups by ID go by it. */
function hasTime({ id, receivedAtMs }: FrameEvent): boolean {
	const view = Buffer.from(id.buffer, id.byteOffset, id.byteLength);
	return (
		view.readUIntBE(0, 6) === receivedAtMs &&
		id[6]! >> 4 === 7 &&
		id[8]! >> 6 === 2
	);
}

function invalid(what: string, cause?: unknown): RequestFailure {
	return new RequestFailure(
		"ImportInvalid",
		`The Job left a part that archive can't take: ${what}`,
		{ cause },
	);
}

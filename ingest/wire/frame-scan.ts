import { decodeEvent, type FrameVersion } from "./frame.ts";
import type { FrameEvent } from "./frame-event.ts";
import { SharedFields } from "./shared-fields.ts";

const headBytes = 28;
const sourceKeyAt = 22;

/** An event of a frame, and how many of its Source stand before it. */
export interface ScannedEvent {
	event: FrameEvent;
	index: number;
}

/**
 * Decodes those events of a frame that belong to certain Sources, and steps over the others. The frame must be valid: archive
 * reports one that isn't where it archives it. Throws RangeError or FrameError for what can't be read.
 * @param isWanted is asked with 32 hex digits.
 */
export function scanFrame(
	bytes: Uint8Array,
	isWanted: (sourceKey: string) => boolean,
): ScannedEvent[] {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const version = buffer.readUInt8(3) as FrameVersion;
	const voids = buffer.readUInt16BE(26);
	let at = headBytes + 6 * voids;
	const count = buffer.readUInt32BE(at);
	at += 4;
	const indices = new Map<string, number>();
	const found: ScannedEvent[] = [];
	const shared = new SharedFields();
	for (let i = 0; i < count; i++) {
		const start = at + 4;
		const end = start + buffer.readUInt32BE(at);
		const key = buffer.toString("hex", start + sourceKeyAt, start + 38);
		if (isWanted(key)) {
			const index = indices.get(key) ?? 0;
			indices.set(key, index + 1);
			const event = decodeEvent(buffer, start, end, version, shared);
			found.push({ event, index });
		}
		at = end;
	}
	return found;
}

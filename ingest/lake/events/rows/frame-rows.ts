import { decodeFrame } from "../../../wire/frame.ts";
import {
	type Choice,
	type EventRow,
	hasType,
	isChosen,
	judgementOf,
	newestFirst,
} from "../row.ts";

/** A message of a shard's stream, as it is there. */
export interface FrameMessage {
	sequence: number;
	/** Stream time. */
	timeMs: number;
	bytes: Uint8Array;
}

export interface FramesChoice extends Choice {
	account: string;
	sourceKeys: readonly string[];
	/** Only those in quarantine, or only the others. */
	quarantined?: boolean;
}

/** The chosen events of frames, the newest first. Throws FrameError. */
export function rowsOfFrames(
	frames: readonly FrameMessage[],
	choice: FramesChoice,
): EventRow[] {
	const { account, sourceKeys, quarantined, whole, limit } = choice;
	const wanted = new Set(sourceKeys);
	const rows: EventRow[] = [];
	for (const { sequence, timeMs: storedMs, bytes } of frames)
		for (const event of decodeFrame(bytes).events) {
			const { id, receivedAtMs: timeMs, sourceKey, kind, body } = event;
			if (event.account !== account || !wanted.has(sourceKey)) continue;
			const isApart = event.quarantined === true;
			if (quarantined !== undefined && quarantined !== isApart) continue;
			const eventID = idText(id);
			if (!isChosen(choice, { timeMs, eventID })) continue;
			const judgement = judgementOf(event.violations);
			if (!hasType(choice, judgement)) continue;
			rows.push({
				eventID,
				timeMs,
				kind,
				bytes: body.length,
				...(judgement && { judgement }),
				...(isApart && { quarantined: true }),
				sequence,
				sourceKey,
				storedMs,
				...(whole && { headers: event.headers, body: Uint8Array.from(body) }),
			});
		}
	return newestFirst(rows).slice(0, limit);
}

/** RFC 9562 §4. */
function idText(id: Uint8Array): string {
	const hex = Buffer.from(id.buffer, id.byteOffset, 16).toString("hex");
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { RequestFailure } from "../request/errors.ts";
import type { RowPlace } from "./row.ts";

/** Where a page of a list ended. */
export interface Cursor {
	/** At the first page, this stream was archived through this sequence: later events come first, in the order of their time. */
	stream: string;
	done: number;
	/** The last event of the page, or of the object below. */
	after: RowPlace;
	/** While the page ended among the later events: those of the stream's frames from this sequence on have been listed. */
	frame?: number;
	/** Absent while the page ended among the later events. */
	object?: { date: UtcDate; quarantined: boolean; name: string };
}

/** Before all rows: nothing of the object is left. */
export const atEnd: RowPlace = { timeMs: -1, eventID: "" };

export function writeCursor(cursor: Cursor): string {
	return Buffer.from(JSON.stringify(cursor)).toString("base64url");
}

/** Throws {@link RequestFailure} CursorInvalid. Whoever writes a cursor chooses where a page begins, and nothing else. */
export function readCursor(text: string): Cursor {
	try {
		const cursor = JSON.parse(Buffer.from(text, "base64url").toString());
		const { stream, done, after, frame, object } = cursor;
		const isRight =
			typeof stream === "string" &&
			Number.isSafeInteger(done) &&
			Number.isSafeInteger(after.timeMs) &&
			typeof after.eventID === "string" &&
			(frame === undefined || Number.isSafeInteger(frame)) &&
			(object === undefined ||
				(/^\d{4}-\d\d-\d\d$/.test(object.date) &&
					typeof object.quarantined === "boolean" &&
					typeof object.name === "string"));
		if (isRight)
			return {
				stream,
				done,
				after,
				...(frame !== undefined && { frame }),
				...(object && { object }),
			};
	} catch {
		// As any other text that isn't one.
	}
	throw new RequestFailure("CursorInvalid", "The cursor is not of this list");
}

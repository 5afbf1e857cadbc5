import { Alarm } from "./alarm.ts";
import type { CutRecord, FrameMark } from "./cut.ts";

/** What a stream holds where a cut ends. */
export interface StreamAtCut {
	/** The stream's last sequence, read before `lastFrame`. */
	lastSequence: number;
	/** The frame at the cut's last sequence; undefined when it is purged or was never there. */
	lastFrame: FrameMark | undefined;
}

/**
 * Makes sure that the stream is the one that was cut. Streams are only appended to: if the frame at one sequence is the
 * same, taken at the same time, so are all before it. One that was restored from an old copy has gone another way.
 * Throws {@link Alarm} StreamBehind or CutMismatch.
 */
export function verifyStream(
	cut: CutRecord,
	{ lastSequence, lastFrame }: StreamAtCut,
): void {
	if (lastSequence < cut.last)
		throw new Alarm(
			"StreamBehind",
			`stream ${cut.stream} ends at sequence ${lastSequence}, but cut records reach to ${cut.last}`,
		);
	if (lastFrame && !isSame(lastFrame, cut.lastFrame))
		throw new Alarm(
			"CutMismatch",
			`stream ${cut.stream}: the cut that ends at sequence ${cut.last} says frame ${cut.lastFrame.id} of ${cut.lastFrame.time}, the stream says ${lastFrame.id} of ${lastFrame.time}`,
		);
}

/** NATS's client reads nanoseconds as a double, which may end a frame's time in the next millisecond. */
const roundingMs = 1;

function isSame(a: FrameMark, b: FrameMark): boolean {
	const apartMs = Math.abs(Date.parse(a.time) - Date.parse(b.time));
	return a.id === b.id && apartMs <= roundingMs;
}

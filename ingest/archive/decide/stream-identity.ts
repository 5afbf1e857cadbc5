import { Alarm } from "./alarm.ts";
import type { CutRecord, FrameMark } from "./cut.ts";

/** The stream's frame where a cut ends. */
export interface StreamAtCut {
	/** The stream's last sequence, read before `lastFrame`. */
	lastSequence: number;
	/** The frame at the cut's last sequence; undefined if it is purged or never existed. */
	lastFrame: FrameMark | undefined;
}

/**
 * Verifies that the stream is the one that was cut. A stream only grows at its end, so if the frame at one sequence has the
 * same id and time, all frames before it are the same. A stream that was restored from an old backup differs.
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

/** NATS's client reads nanoseconds as a double, which can round a frame's time up to the next millisecond. */
const roundingMs = 1;

function isSame(a: FrameMark, b: FrameMark): boolean {
	const apartMs = Math.abs(Date.parse(a.time) - Date.parse(b.time));
	return a.id === b.id && apartMs <= roundingMs;
}

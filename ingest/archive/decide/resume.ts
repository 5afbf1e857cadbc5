import { Alarm } from "./alarm.ts";
import { type CutRecord, type FrameMark, isLost } from "./cut.ts";

/**
 * Where archiving a stream resumes. `head` is its newest cut. `firstSequence` and `objectsDone` must be read before the cuts
 * are listed and the rest of the state after it, so that another archiver's work in between is neither a contradiction nor
 * a loss.
 * Returns the sequence to read from, with `head` as `unfinished` if its objects may not all be in the store; or the
 * sequences behind `head` that are lost, which have no cut in their place yet.
 * Throws {@link Alarm} if the stream can't be the one that was cut, or the cuts aren't the stream's.
 */
export function resume(
	stream: string,
	head: CutRecord | undefined,
	{ firstSequence, heldFrom, ...atHead }: StreamState,
	objectsDone: number,
): ResumePosition {
	const last = head?.last ?? 0;
	if (objectsDone > last)
		throw new Alarm(
			"CutsMissing",
			`stream ${stream} is archived through sequence ${objectsDone}, but the bucket's cut records reach only to ${last}`,
		);
	const from = last + 1;
	// JetStream gives an untouched stream the first sequence 0 or 1.
	if (firstSequence > from)
		return { from, lost: { from, to: firstSequence - 1 } };
	if (head) verifyStream(head, atHead);
	const isDone =
		!head ||
		// It has no objects, and NATS may count its first sequence as held for ever.
		isLost(head) ||
		firstSequence > head.first ||
		objectsDone >= head.last;
	if (!isDone) return { from: head.first, unfinished: head };
	return heldFrom > from
		? { from, lost: { from, to: heldFrom - 1 } }
		: { from };
}

export interface ResumePosition {
	from: number;
	unfinished?: CutRecord;
	lost?: { from: number; to: number };
}

export interface StreamState extends StreamAtCut {
	/** The stream's first sequence. */
	firstSequence: number;
	/** The first sequence behind `head` that the stream holds, or would give to its next frame. */
	heldFrom: number;
}

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

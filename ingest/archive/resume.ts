import { Alarm } from "./alarm.ts";
import type { CutRecord } from "./cut.ts";
import { type StreamAtCut, verifyStream } from "./stream-identity.ts";

/**
 * Where archiving a stream goes on. `head` is its newest cut; `firstSequence` was read from the stream before the cuts
 * were listed, the rest after, so that a second archiver at work in between is no contradiction.
 * Returns the sequence to read from, and `head` again if its objects may not all be in the store yet.
 * Throws {@link Alarm} when the stream can't be the one that was cut.
 */
export function resume(
	stream: string,
	head: CutRecord | undefined,
	{ firstSequence, ...atHead }: StreamState,
	objectsDone: number,
): { from: number; unfinished?: CutRecord } {
	const next = (head?.last ?? 0) + 1;
	// JetStream gives an untouched stream the first sequence 0 or 1.
	if (firstSequence > next)
		throw new Alarm(
			"FramesMissing",
			`stream ${stream} begins at sequence ${firstSequence}, but cut records reach only to ${next - 1}`,
		);
	if (head) verifyStream(head, atHead);
	const isDone =
		!head || firstSequence > head.first || objectsDone >= head.last;
	return isDone ? { from: next } : { from: head.first, unfinished: head };
}

/** The stream, and what it holds where `head` ends. */
export interface StreamState extends StreamAtCut {
	firstSequence: number;
}

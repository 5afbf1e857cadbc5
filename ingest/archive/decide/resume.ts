import { Alarm } from "./alarm.ts";
import { type CutRecord, isLost } from "./cut.ts";
import { type StreamAtCut, verifyStream } from "./stream-identity.ts";

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
): Position {
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

export interface Position {
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

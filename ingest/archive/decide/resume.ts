import { Alarm } from "./alarm.ts";
import type { CutRecord } from "./cut.ts";
import {
	type Acceptance,
	type AcceptedLoss,
	lossId,
	type SequencesLost,
} from "./loss.ts";
import { type StreamAtCut, verifyStream } from "./stream-identity.ts";

/**
 * Where archiving a stream goes on. `head` is its newest cut; `firstSequence` was read from the stream before the cuts
 * were listed, the rest after, so that a second archiver at work in between is no contradiction.
 * Returns the sequence to read from, and `head` again if its objects may not all be in the store yet; or what was
 * `accepted` as lost and has no cut in its place yet.
 * Throws {@link Alarm} when the stream can't be the one that was cut.
 */
export function resume(
	stream: string,
	head: CutRecord | undefined,
	{ firstSequence, ...atHead }: StreamState,
	objectsDone: number,
	accepted: readonly AcceptedLoss[] = [],
): Position {
	const next = (head?.last ?? 0) + 1;
	// JetStream gives an untouched stream the first sequence 0 or 1.
	if (firstSequence > next) {
		const loss = {
			kind: "sequences" as const,
			stream,
			from: next,
			to: firstSequence - 1,
		};
		const lost = accepted.find((other) => lossId(other) === lossId(loss));
		if (lost)
			return {
				from: next,
				lost: { ...loss, acceptance: lost.acceptance },
			};
		throw new Alarm(
			"FramesMissing",
			`stream ${stream} begins at sequence ${firstSequence}, but cut records reach only to ${next - 1}`,
			{ loss },
		);
	}
	if (head) verifyStream(head, atHead);
	const isDone =
		!head || firstSequence > head.first || objectsDone >= head.last;
	return isDone ? { from: next } : { from: head.first, unfinished: head };
}

/** Where archiving goes on. */
export interface Position {
	from: number;
	unfinished?: CutRecord;
	lost?: SequencesLost & { acceptance: Acceptance };
}

/** The stream, and what it holds where `head` ends. */
export interface StreamState extends StreamAtCut {
	firstSequence: number;
}

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
 * Where archiving a stream resumes. `head` is its newest cut. `firstSequence` must be read before the cuts are listed and
 * the rest of the state after it, so that another archiver's work in between is no contradiction.
 * Returns the sequence to read from, with `head` as `unfinished` if its objects may not all be in the store; or the
 * `accepted` loss that has no cut in its place yet.
 * Throws {@link Alarm} if the stream can't be the one that was cut.
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

export interface Position {
	from: number;
	unfinished?: CutRecord;
	lost?: SequencesLost & { acceptance: Acceptance };
}

/** The stream's first sequence, and its frame where `head` ends. */
export interface StreamState extends StreamAtCut {
	firstSequence: number;
}

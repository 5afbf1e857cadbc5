/**
 * Frames whose senders were told that they are stored, and that can't come back. Archive reports them and goes on without
 * them: to stop would lose more.
 */
export type Loss = FramesLost | SequencesLost;

/** Numbers from..to of one receive process never arrived and weren't voided. */
export interface FramesLost extends FoundLoss {
	kind: "frames";
	process: string;
}

/** The stream lost its sequences from..to before they were archived. */
export interface SequencesLost extends FoundLoss {
	kind: "sequences";
}

interface FoundLoss {
	from: number;
	to: number;
	/** When archive found it, RFC 3339; of frames, when they were due by the stream's time. */
	time: string;
}

/** How many frames a loss is. */
export function framesOf({ from, to }: Loss): number {
	return to - from + 1;
}

/** What a person reads about a loss. */
export function describeLoss(loss: Loss): string {
	const { from, to, time } = loss;
	return loss.kind === "frames"
		? `frames ${from} to ${to} of receive process ${loss.process} never arrived and weren't voided; they were due at ${time}`
		: `sequences ${from} to ${to} are gone from the stream and weren't archived; found at ${time}`;
}

import type { Hole } from "./frame-numbers.ts";

/** Frames that are missing for good, as an alarm found them; exactly these and no others. */
export type Loss = FramesLost | SequencesLost;

/** Numbers from..to of one receive process never came and weren't voided. */
export interface FramesLost {
	kind: "frames";
	stream: string;
	process: string;
	from: number;
	to: number;
}

/** The stream no longer holds its sequences from..to, and no cut covers them. */
export interface SequencesLost {
	kind: "sequences";
	stream: string;
	from: number;
	to: number;
}

/** A person's word that archive may go on without what is lost. */
export interface Acceptance {
	version: 1;
	/** Who accepted it. */
	by: string;
	reason: string;
	/** RFC 3339. */
	time: string;
}

export type AcceptedLoss = Loss & { acceptance: Acceptance };

/** What people and the bucket call a loss, within its stream. */
export function lossId(loss: Loss): string {
	const range = `${loss.from}-${loss.to}`;
	return loss.kind === "frames"
		? `frames-${loss.process}-${range}`
		: `sequences-${range}`;
}

/** Undefined for what {@link lossId} didn't write. */
export function parseLossId(stream: string, id: string): Loss | undefined {
	const [, process, from, to] =
		/^(?:frames-(\w+)|sequences)-(\d+)-(\d+)$/.exec(id) ?? [];
	if (from === undefined || to === undefined) return undefined;
	const range = { stream, from: Number(from), to: Number(to) };
	return process === undefined
		? { kind: "sequences", ...range }
		: { kind: "frames", process, ...range };
}

/** Whether all of the hole was accepted as lost, by one acceptance: a hole only ever shrinks. */
export function isAccepted(
	hole: Hole,
	{ stream, process }: { stream: string; process: string },
	accepted: readonly Loss[],
): boolean {
	return accepted.some(
		(loss) =>
			loss.kind === "frames" &&
			loss.stream === stream &&
			loss.process === process &&
			loss.from <= hole.from &&
			hole.to <= loss.to,
	);
}

import type { Hole } from "./frame-numbers.ts";

/** Frames that an alarm found to be missing; exactly these and no others. */
export type Loss = FramesLost | SequencesLost;

/** Numbers from..to of one receive process never arrived and weren't voided. */
export interface FramesLost {
	kind: "frames";
	stream: string;
	process: string;
	from: number;
	to: number;
}

/** The stream has lost its sequences from..to, and no cut covers them. */
export interface SequencesLost {
	kind: "sequences";
	stream: string;
	from: number;
	to: number;
}

/** A person's decision that archive continues without the lost frames. */
export interface Acceptance {
	version: 1;
	/** Who accepted it. */
	by: string;
	reason: string;
	/** RFC 3339. */
	time: string;
}

export type AcceptedLoss = Loss & { acceptance: Acceptance };

/** The loss's id within its stream, for people and for object keys. */
export function lossId(loss: Loss): string {
	const range = `${loss.from}-${loss.to}`;
	return loss.kind === "frames"
		? `frames-${loss.process}-${range}`
		: `sequences-${range}`;
}

/** Reads an id that {@link lossId} wrote; undefined for any other text. */
export function parseLossId(stream: string, id: string): Loss | undefined {
	const [, process, from, to] =
		/^(?:frames-(\w+)|sequences)-(\d+)-(\d+)$/.exec(id) ?? [];
	if (from === undefined || to === undefined) return undefined;
	const range = { stream, from: Number(from), to: Number(to) };
	return process === undefined
		? { kind: "sequences", ...range }
		: { kind: "frames", process, ...range };
}

/** Whether one acceptance covers the whole hole. A hole never grows, so an acceptance stays valid. */
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

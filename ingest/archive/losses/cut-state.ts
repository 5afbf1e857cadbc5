import { retainedDays } from "../../../packages/contracts/retention.ts";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import type { CutGroup, CutRecord } from "../decide/cut.ts";
import type { CutLoss } from "../decide/loss.ts";

/**
 * Whether a cut can still get objects that it lacks.
 * - `complete`: it lacks none.
 * - `held`: the stream holds its frames.
 * - `awaited`: an archiver that has read the frames may be writing.
 * - `lost`: nobody has the frames.
 */
export type CutState = "complete" | "held" | "awaited" | "lost";

/** An archiver writes a cut's objects within seconds after its record, and gives up each request after half a minute. */
const writersMs = 120_000;

/** @param ageMs How long the cut's record has been in the store. Negative if the store's clock is ahead. */
export function stateOfCut({
	missing,
	isHeld,
	ageMs,
}: {
	missing: number;
	isHeld: boolean;
	ageMs: number;
}): CutState {
	if (missing === 0) return "complete";
	if (isHeld) return "held";
	return ageMs >= 0 && ageMs < writersMs ? "awaited" : "lost";
}

/**
 * The groups of a cut that must have objects. Those of deleted sources needn't, and those of dates before the retained
 * ones may have expired.
 */
export function expectedGroups(
	{ groups }: CutRecord,
	isDeleted: (group: CutGroup) => boolean,
	nowMs: number,
): CutGroup[] {
	const oldest = addDays(utcDate(nowMs), -retainedDays);
	return groups.filter((group) => group.date >= oldest && !isDeleted(group));
}

export function lossOf(
	{ stream, first, last }: CutRecord,
	missing: readonly CutGroup[],
	time: string,
): CutLoss {
	const groups = missing.map(({ lastEventTime, ...group }) => group);
	return {
		version: 1,
		stream,
		loss: { kind: "objects", from: first, to: last, groups, time },
	};
}

/** Whether it is decided what the cut has lost. */
export function isSettled(
	{ stream, first }: CutRecord,
	losses: readonly CutLoss[],
): boolean {
	return losses.some(
		({ stream: of, loss }) => of === stream && loss.from === first,
	);
}

/** Whether a stream that has these sequences may hold the cut's frames. */
export function mayHold(
	{ first, last }: CutRecord,
	stream: { firstSequence: number; lastSequence: number } | undefined,
): boolean {
	return (
		stream !== undefined &&
		stream.firstSequence <= first &&
		stream.lastSequence >= last
	);
}

import type { FlushRequests } from "./flush-requests.ts";
import {
	type CutSize,
	cutBytes,
	type FrameQueue,
	PositionLost,
	type UncutFrames,
} from "./frame-queue.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** How long frames that must be in the stream may take to arrive. After that, reading restarts at the newest cut. */
const stallMs = 2_000;

/** When frames become a cut. */
export interface CutLimits extends CutSize {
	maxAgeMs: number;
}

/** `wakeSignal` wakes when the queue, the flush requests or the signal change. */
export interface FrameWait {
	queue: FrameQueue;
	wakeSignal: WakeSignal;
	signal: AbortSignal;
}

/**
 * Settles when the frames that were read should become a cut, and there is at least one.
 * Settles sooner, with false, when `isAsked`: somebody wants to know something of the frames.
 * Throws what ended the reading, the signal's reason, or {@link PositionLost} if requested frames don't arrive: then
 * another archiver has purged them.
 */
export async function untilCutIsDue(
	{ queue, wakeSignal, signal }: FrameWait,
	flushes: FlushRequests,
	limits: CutLimits,
	isAsked: (uncut: UncutFrames) => boolean = () => false,
): Promise<boolean> {
	const stall = new Stall();
	for (;;) {
		signal.throwIfAborted();
		const { uncut } = queue;
		if (isAsked(uncut)) return false;
		// What lies behind may never come, and can be lost only once these frames are cut.
		if (queue.hasEnd && uncut.frames > 0) return true;
		queue.throwIfFailed();
		const nowMs = performance.now();
		const dueInMs = cutDueInMs(uncut, limits, flushes, nowMs);
		if (dueInMs === 0) return true;
		const stalledInMs = stall.inMs(uncut.lastSequence, flushes.through, nowMs);
		if (stalledInMs <= 0 && uncut.frames > 0) return true;
		throwIfStalled(stalledInMs, uncut.lastSequence, flushes.through);
		await wakeSignal.wait(Math.min(dueInMs, stalledInMs));
	}
}

/**
 * In how many milliseconds the frames become a cut: by size, by age, or because somebody has requested a flush. 0 means
 * now, Infinity not before something changes.
 */
export function cutDueInMs(
	uncut: UncutFrames,
	limits: CutLimits,
	{ through, notBeforeMs }: Pick<FlushRequests, "through" | "notBeforeMs">,
	nowMs: number,
): number {
	if (uncut.frames === 0) return Infinity;
	if (uncut.bytes >= cutBytes(limits, uncut.sources)) return 0;
	const isRead = through > 0 && uncut.lastSequence >= through;
	const agedMs = uncut.sinceMs + limits.maxAgeMs;
	return Math.max(0, Math.min(agedMs, isRead ? notBeforeMs : Infinity) - nowMs);
}

/** Settles when the queue has read through this sequence. Throws like {@link untilCutIsDue}. */
export async function untilRead(
	{ queue, wakeSignal, signal }: FrameWait,
	sequence: number,
): Promise<void> {
	queue.want(sequence);
	const stall = new Stall();
	for (;;) {
		signal.throwIfAborted();
		const { lastSequence } = queue.uncut;
		if (lastSequence >= sequence) return;
		queue.throwIfFailed();
		const stalledInMs = stall.inMs(lastSequence, sequence, performance.now());
		throwIfStalled(stalledInMs, lastSequence, sequence);
		await wakeSignal.wait(stalledInMs);
	}
}

/** Notices that reading makes no progress towards a sequence that must be in the stream. */
class Stall {
	#lastSequence = -1;
	#sinceMs = 0;

	/** In how many milliseconds reading counts as stalled; Infinity if nothing is missing. */
	inMs(lastSequence: number, wanted: number, nowMs: number): number {
		if (lastSequence >= wanted) {
			this.#lastSequence = -1;
			return Infinity;
		}
		if (lastSequence !== this.#lastSequence) {
			this.#lastSequence = lastSequence;
			this.#sinceMs = nowMs;
		}
		return this.#sinceMs + stallMs - nowMs;
	}
}

function throwIfStalled(inMs: number, lastSequence: number, wanted: number) {
	if (inMs <= 0)
		throw new PositionLost(
			`sequence ${lastSequence + 1} doesn't arrive, but ${wanted} is needed`,
		);
}

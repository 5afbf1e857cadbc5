import { type CutLimits, cutDueInMs } from "../decide/cut-due.ts";
import type { FlushRequests } from "../request/flush-requests.ts";
import type { Doorbell } from "../wake-signal.ts";
import { type FrameQueue, PositionLost } from "./frame-queue.ts";

/** How long frames that must be in the stream may take to come, before reading begins again at the newest cut. */
const stallMs = 2_000;

/** What a wait for frames stands on. `bell` rings when the queue, the requests or the signal change. */
export interface FrameWait {
	queue: FrameQueue;
	bell: Doorbell;
	signal: AbortSignal;
}

/**
 * Settles when the frames that were read should become a cut, and there is at least one.
 * Throws what ended the reading, the signal's reason, or {@link PositionLost} when frames that somebody waits for don't
 * come: a second archiver has purged them.
 */
export async function untilCutIsDue(
	{ queue, bell, signal }: FrameWait,
	flushes: FlushRequests,
	limits: CutLimits,
): Promise<void> {
	const stall = new Stall();
	for (;;) {
		signal.throwIfAborted();
		const { backlog } = queue;
		// What came before the message that stops the shard needn't wait for a person.
		if (queue.hasAlarm && backlog.frames > 0) return;
		queue.throwIfFailed();
		const nowMs = performance.now();
		const dueInMs = cutDueInMs(backlog, limits, flushes.through, nowMs);
		if (dueInMs === 0) return;
		const stalledInMs = stall.inMs(
			backlog.lastSequence,
			flushes.through,
			nowMs,
		);
		await bell.wait(Math.min(dueInMs, stalledInMs));
	}
}

/** Settles when the queue has read through this sequence. Throws as {@link untilCutIsDue}. */
export async function untilRead(
	{ queue, bell, signal }: FrameWait,
	sequence: number,
): Promise<void> {
	queue.want(sequence);
	const stall = new Stall();
	for (;;) {
		signal.throwIfAborted();
		const { lastSequence } = queue.backlog;
		if (lastSequence >= sequence) return;
		queue.throwIfFailed();
		await bell.wait(stall.inMs(lastSequence, sequence, performance.now()));
	}
}

/** Notices that reading makes no progress towards a sequence that must be in the stream. */
class Stall {
	#lastSequence = -1;
	#sinceMs = 0;

	/** In how many milliseconds that will be so: Infinity when nothing is missing. Throws once it is. */
	inMs(lastSequence: number, wanted: number, nowMs: number): number {
		if (lastSequence >= wanted) {
			this.#lastSequence = -1;
			return Infinity;
		}
		if (lastSequence !== this.#lastSequence) {
			this.#lastSequence = lastSequence;
			this.#sinceMs = nowMs;
		}
		const leftMs = this.#sinceMs + stallMs - nowMs;
		if (leftMs <= 0)
			throw new PositionLost(
				`sequence ${lastSequence + 1} doesn't come, and ${wanted} is waited for`,
			);
		return leftMs;
	}
}

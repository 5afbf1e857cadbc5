/** Frames that were read and stand in no cut yet. */
export interface Backlog {
	frames: number;
	bytes: number;
	/** When the first of them was read, on the clock of performance.now(); NaN when there is none. */
	sinceMs: number;
	/** Sequence of the latest frame read, cut or not. */
	lastSequence: number;
}

export interface CutLimits {
	maxBytes: number;
	maxAgeMs: number;
}

/**
 * In how many milliseconds the backlog should become a cut: by size, by age, or because somebody waits for everything
 * through `flushThrough` (0 when nobody does). 0 is now, Infinity is not before something changes.
 */
export function cutDueInMs(
	backlog: Backlog,
	limits: CutLimits,
	flushThrough: number,
	nowMs: number,
): number {
	if (backlog.frames === 0) return Infinity;
	if (backlog.bytes >= limits.maxBytes) return 0;
	if (flushThrough > 0 && backlog.lastSequence >= flushThrough) return 0;
	return Math.max(0, backlog.sinceMs + limits.maxAgeMs - nowMs);
}

export interface Backoff {
	baseMs: number;
	maxMs: number;
}

/**
 * How long to wait after so many failures in a row (1 is the first): doubling from base to max, and of that a random
 * half to whole, so that those who failed together don't come back together.
 */
export function backoffMs(
	failures: number,
	{ baseMs, maxMs }: Backoff,
	random = Math.random,
): number {
	const full = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
	return full * (0.5 + random() / 2);
}

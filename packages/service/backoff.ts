export interface BackoffOptions {
	baseMs: number;
	maxMs: number;
}

/**
 * How long to wait after a number of failures in a row (1 is the first). The wait doubles from base to max; a random factor
 * from one half to one spreads callers that failed together (AWS Architecture Blog, "Exponential Backoff And Jitter").
 */
export function backoffMs(
	failures: number,
	{ baseMs, maxMs }: BackoffOptions,
	random = Math.random,
): number {
	const full = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
	return full * (0.5 + random() / 2);
}

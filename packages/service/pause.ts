/** Waits; settles early when the signal fires, and at once if it has fired before. */
export async function pause(
	timeMs: number,
	signal: AbortSignal,
): Promise<void> {
	if (signal.aborted) return;
	// Not node:timers/promises, which tests' fake timers don't reach.
	await new Promise<void>((resolve) => {
		const done = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", done);
			resolve();
		};
		const timer = setTimeout(done, timeMs);
		signal.addEventListener("abort", done);
	});
}

/** What the work comes to. Throws an error with this message if that takes longer; the work goes on. */
export async function within<T>(
	timeoutMs: number,
	work: Promise<T>,
	message: string,
): Promise<T> {
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timer = setTimeout(() => reject(new Error(message)), timeoutMs);
	try {
		return await Promise.race([work, late]);
	} finally {
		clearTimeout(timer);
	}
}

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

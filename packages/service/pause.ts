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

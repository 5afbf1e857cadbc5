import { setTimeout as delay } from "node:timers/promises";

export interface RetryOptions {
	attempts: number;
	signal: AbortSignal;
	/** Whether another attempt can help. */
	isTransient: (error: unknown) => boolean;
	onRetry: (error: unknown, attempt: number) => void;
}

/** Repeats `work` while its errors are transient. Throws the last error, or the signal's reason. */
export async function retry<T>(
	options: RetryOptions,
	work: () => Promise<T>,
): Promise<T> {
	for (let attempt = 1; ; attempt++) {
		try {
			return await work();
		} catch (error) {
			options.signal.throwIfAborted();
			if (attempt >= options.attempts || !options.isTransient(error))
				throw error;
			options.onRetry(error, attempt);
			await delay(retryDelayMs(attempt, Math.random()), undefined, {
				signal: options.signal,
			});
		}
	}
}

/**
 * Exponential backoff from 250 ms to 8 s with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"), but at
 * least a tenth of the ceiling, so that 8 attempts outlast the restart of an S3 gateway.
 * @param attempt the one that failed, from 1.
 */
export function retryDelayMs(attempt: number, random: number): number {
	const ceilingMs = Math.min(8000, 250 * 2 ** (attempt - 1));
	return ceilingMs * (0.1 + 0.9 * random);
}

import { setTimeout as delay } from "node:timers/promises";
import { type BackoffOptions, backoffMs } from "../../service/backoff.ts";

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
			const { signal } = options;
			await delay(backoffMs(attempt, retryBackoff), undefined, { signal });
		}
	}
}

/** Bounds of the pause between attempts, so that 8 attempts outlast the restart of an S3 gateway. */
export const retryBackoff: BackoffOptions = { baseMs: 250, maxMs: 8_000 };

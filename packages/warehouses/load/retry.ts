import { setTimeout as delay } from "node:timers/promises";
import { type BackoffOptions, backoffMs } from "../../service/backoff.ts";

/** How long to go on after an error. */
export interface Patience {
	attempts: number;
	backoff: BackoffOptions;
	/** What the other side asks for (RFC 9110 §10.2.3). */
	atLeastMs?: number | undefined;
}

export interface RetryOptions {
	/** A number means so many attempts with {@link retryBackoff}. */
	attempts: number | ((error: unknown) => Patience);
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
			const { attempts, signal } = options;
			const patience =
				typeof attempts === "number"
					? { attempts, backoff: retryBackoff }
					: attempts(error);
			if (attempt >= patience.attempts || !options.isTransient(error))
				throw error;
			options.onRetry(error, attempt);
			await pauseAfter(patience, attempt, signal);
		}
	}
}

/** Waits after a number of failures in a row. Throws the signal's reason. */
export async function pauseAfter(
	{ backoff, atLeastMs = 0 }: Patience,
	failures: number,
	signal: AbortSignal,
): Promise<void> {
	const ms = Math.max(atLeastMs, backoffMs(failures, backoff));
	await delay(ms, undefined, { signal });
}

/** Bounds of the pause between attempts, so that 8 attempts outlast the restart of an S3 gateway. */
export const retryBackoff: BackoffOptions = { baseMs: 250, maxMs: 8_000 };

/** Milliseconds, unless the API names more in Retry-After. */
const maxDelayMs = 15_000;

/** 429 and 503 are Tidemill's, the others those of a proxy in front of it (RFC 9110 §15.6). */
export const busyStatuses: readonly number[] = [429, 502, 503, 504];

/** A request without an answer that counts. */
export interface FailedAttempt {
	/** Undefined if nothing answered. `fetch` doesn't say whether such a request was sent. */
	status: number | undefined;
	/** As the API asks for. */
	retryAfterMs: number;
	/** Whether a repeat has no second effect. */
	isRepeatable: boolean;
	/** How often it was sent, from 1. */
	attempt: number;
	/** In which the client may retry. */
	leftMs: number;
}

/**
 * Milliseconds until the request is sent again, or undefined if it is not.
 *
 * @param random 0 to 1, so that clients don't return all at once.
 */
export function retryDelay(failed: FailedAttempt, random: number) {
	const { status, retryAfterMs, isRepeatable, attempt, leftMs } = failed;
	if (status !== undefined && !busyStatuses.includes(status)) return undefined;
	if (!isRepeatable && status !== 429) return undefined;
	const backoffMs = Math.min(500 * 2 ** (attempt - 1), maxDelayMs);
	const delayMs = Math.max(backoffMs * (0.5 + random / 2), retryAfterMs);
	return delayMs <= leftMs ? delayMs : undefined;
}

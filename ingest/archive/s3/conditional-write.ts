import { setTimeout as delay } from "node:timers/promises";
import { attemptsOf, statusOf } from "./store-error.ts";

const conflictAttempts = 6;
const maxBackoffMs = 2_000;

/**
 * Carries out one write with `If-None-Match: *`. A 412 after a repeat may be the answer to our own first attempt, whose
 * success was lost on the way: `isOurs` compares what stands there. 409 is S3's word for "somebody is writing it just
 * now; try again". Throws what else the store says.
 */
export async function writeOnce(
	write: () => Promise<unknown>,
	isOurs: () => Promise<boolean>,
	signal: AbortSignal,
): Promise<"created" | "exists"> {
	for (let attempt = 1; ; attempt++)
		try {
			await write();
			return "created";
		} catch (error) {
			const isRepeat = attempt > 1 || attemptsOf(error) > 1;
			if (statusOf(error) === 412)
				return isRepeat && (await isOurs()) ? "created" : "exists";
			if (statusOf(error) !== 409 || attempt === conflictAttempts) throw error;
			await backOff(attempt, signal);
		}
}

/** Waits before the next attempt, with full jitter, so that archivers don't come back in step. */
export async function backOff(
	attempt: number,
	signal: AbortSignal,
): Promise<void> {
	const bound = Math.min(maxBackoffMs, 50 * 2 ** attempt);
	await delay(Math.random() * bound, undefined, { signal });
}

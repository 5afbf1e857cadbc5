import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../../packages/service/backoff.ts";
import { attemptsOf, statusOf } from "./store-error.ts";

const conflictAttempts = 6;
const backoff = { baseMs: 100, maxMs: 2_000 };

/**
 * Carries out one write with `If-None-Match: *`. A 412 after a repeat may mean that our own first attempt succeeded and its
 * answer was lost, so `isOurs` compares the object in the store. On 409, another client is writing the key, and S3 asks to
 * try again. Throws all other errors.
 * @param wasTried an attempt before this call may have succeeded.
 */
export async function writeOnce(
	write: () => Promise<unknown>,
	isOurs: () => Promise<boolean>,
	signal: AbortSignal,
	wasTried = false,
): Promise<"created" | "exists"> {
	for (let attempt = 1; ; attempt++)
		try {
			await write();
			return "created";
		} catch (error) {
			const isRepeat = wasTried || attempt > 1 || attemptsOf(error) > 1;
			if (statusOf(error) === 412)
				return isRepeat && (await isOurs()) ? "created" : "exists";
			if (statusOf(error) !== 409 || attempt === conflictAttempts) throw error;
			await backOff(attempt, signal);
		}
}

/** Waits before the next attempt. */
export async function backOff(
	attempt: number,
	signal: AbortSignal,
): Promise<void> {
	await delay(backoffMs(attempt, backoff), undefined, { signal });
}

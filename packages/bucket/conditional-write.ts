import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../service/pause.ts";
import { statusOf } from "./store-error.ts";

const conflictAttempts = 6;
const backoff = { baseMs: 100, maxMs: 2_000 };

/**
 * Carries out one write with `If-None-Match: *`. A 412 may mean that our own write succeeded and was sent again: by this
 * process, by the SDK, or by a proxy on the way, of which nobody here knows. So `isOurs` compares the object in the store. On
 * 409, another client is writing the key, and S3 asks to try again. Throws all other errors.
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
			if (statusOf(error) === 412)
				return (await isOurs()) ? "created" : "exists";
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

import { setTimeout as delay } from "node:timers/promises";

/** Waits; settles early when the signal fires, or has fired before. */
export async function pause(
	timeMs: number,
	signal: AbortSignal,
): Promise<void> {
	await delay(timeMs, undefined, { signal }).catch(() => undefined);
}

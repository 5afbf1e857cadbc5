import type { Logger } from "../../../service/log.ts";
import { pause } from "./wait.ts";

const intervalMs = 3_600_000;
/** Bounds of the wait after a first failure, and after many. Full jitter keeps several archives from coming at once. */
const firstRetryMs = 60_000;
const maxRetryMs = 600_000;

export interface HourlyOptions {
	log: Logger;
	signal: AbortSignal;
	/** Others are for tests. */
	wait?: typeof pause;
	random?: () => number;
}

/** Does the work at once and then every hour, and sooner where it failed, until the signal fires. Never throws. */
export async function hourly(
	what: string,
	work: () => Promise<unknown>,
	{ log, signal, wait = pause, random = Math.random }: HourlyOptions,
): Promise<void> {
	let failures = 0;
	while (!signal.aborted) {
		let waitMs = intervalMs;
		try {
			await work();
			failures = 0;
		} catch (error) {
			if (signal.aborted) break;
			waitMs = random() * Math.min(maxRetryMs, firstRetryMs * 2 ** failures++);
			log.warn({ err: error }, `${what} failed; trying again`);
		}
		await wait(waitMs, signal);
	}
}

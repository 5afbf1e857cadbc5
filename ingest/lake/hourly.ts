import { backoffMs } from "../../packages/service/backoff.ts";
import type { Logger } from "../../packages/service/log.ts";
import { pause } from "../../packages/service/pause.ts";

const intervalMs = 3_600_000;
const backoff = { baseMs: 60_000, maxMs: 600_000 };

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
			waitMs = backoffMs(++failures, backoff, random);
			log.warn({ err: error }, `${what} failed; trying again`);
		}
		await wait(waitMs, signal);
	}
}

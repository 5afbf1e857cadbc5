import type { Logger } from "./log.ts";
import { backoffMs, pause } from "./pause.ts";

/** After failures in a row. Work that is done more often than once a minute is tried again as soon as that, at first. */
const [firstRetryMs, lastRetryMs] = [60_000, 600_000];

export interface RepetitionOptions {
	/** The average time between two successes. */
	intervalMs: number;
	/** Before the first time; 0 if it isn't given. */
	firstMs?: number;
	/** By which part of the interval each wait differs from it at most: it keeps two archives from doing the same work. */
	jitter?: number;
	log: Logger;
	signal: AbortSignal;
	/** Learns after each time whether it failed. */
	tell?: (isFailing: boolean) => void;
	/** Others are for tests. */
	wait?: typeof pause;
	random?: () => number;
}

/** Does the work again and again until the signal fires, ever more seldom while it fails. Never throws. */
export async function repeatedly(
	what: string,
	work: () => Promise<unknown>,
	options: RepetitionOptions,
): Promise<void> {
	const { intervalMs, firstMs = 0, jitter = 0, log, signal } = options;
	const { tell, wait = pause, random = Math.random } = options;
	const backoff = {
		baseMs: Math.min(firstRetryMs, intervalMs),
		maxMs: lastRetryMs,
	};
	let failures = 0;
	if (firstMs > 0) await wait(firstMs, signal);
	while (!signal.aborted) {
		let waitMs = intervalMs * (1 - jitter + 2 * jitter * random());
		try {
			await work();
			failures = 0;
			tell?.(false);
		} catch (error) {
			if (signal.aborted) break;
			tell?.(true);
			waitMs = backoffMs(++failures, backoff, random);
			log.warn({ err: error }, `${what} failed; trying again`);
		}
		await wait(waitMs, signal);
	}
}

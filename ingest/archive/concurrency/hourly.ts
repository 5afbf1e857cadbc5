import type { Logger } from "../../../service/log.ts";
import { pause } from "./wait.ts";

const intervalMs = 3_600_000;
/** The longest wait after a failure. Full jitter keeps several archives from coming at once. */
const maxRetryMs = 60_000;

/** Does the work at once and then every hour, and sooner where it failed, until the signal fires. Never throws. */
export async function hourly(
	what: string,
	work: () => Promise<unknown>,
	{ log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
	while (!signal.aborted) {
		let waitMs = intervalMs;
		try {
			await work();
		} catch (error) {
			if (signal.aborted) break;
			waitMs = Math.random() * maxRetryMs;
			log.warn({ err: error }, `${what} failed; trying again`);
		}
		await pause(waitMs, signal);
	}
}

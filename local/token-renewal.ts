import { setInterval } from "node:timers/promises";

/**
 * Renews a token that was just issued, each time half of its life is over, until the signal fires. After a failure, and after the
 * machine has slept, it renews at the next check.
 */
export async function keepRenewed(
	renew: () => Promise<void>,
	options: {
		lifeMs: number;
		signal: AbortSignal;
		checkMs?: number;
		now?: () => number;
	},
): Promise<void> {
	const { lifeMs, signal, checkMs = 10_000, now = Date.now } = options;
	let renewedMs = now();
	try {
		for await (const _ of setInterval(checkMs, undefined, { signal })) {
			const nowMs = now();
			if (nowMs - renewedMs < lifeMs / 2) continue;
			const isRenewed = await renew().then(
				() => true,
				() => false,
			);
			if (isRenewed) renewedMs = nowMs;
		}
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}

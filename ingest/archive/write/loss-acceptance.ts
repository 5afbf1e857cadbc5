import type { Logger } from "../../../service/log.ts";
import { pause } from "../concurrency/wait.ts";
import type { Alarm } from "../decide/alarm.ts";
import type { LossStore } from "./loss-store.ts";

/** How soon a shard that has stopped hears that its loss was accepted. */
const pollMs = 2_000;

/** Reports what the alarm says is lost, and settles when a person has accepted it, or the signal fires. */
export async function untilAccepted(
	losses: LossStore,
	{ loss, message }: Alarm,
	{ shard, log, signal }: { shard: number; log: Logger; signal: AbortSignal },
): Promise<void> {
	while (!signal.aborted) {
		try {
			if (loss) await losses.report(loss, message);
			const acceptance = loss && (await losses.acceptanceOf(loss));
			if (acceptance) {
				log.warn({ shard, loss, acceptance }, "a loss is accepted");
				return;
			}
		} catch (error) {
			log.warn({ shard, err: error }, "losses can't be read or written");
		}
		await pause(pollMs, signal);
	}
}

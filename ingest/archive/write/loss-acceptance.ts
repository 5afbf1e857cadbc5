import type { Logger } from "../../../service/log.ts";
import { pause } from "../concurrency/wait.ts";
import type { Alarm } from "../decide/alarm.ts";
import type { LossStore } from "./loss-store.ts";

/** How soon a stopped shard learns that its loss is accepted. */
const pollMs = 2_000;

/** Records the alarm's loss, and settles when a person has accepted it, or when the signal fires. */
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
			log.warn({ shard, err: error }, "could not read or write the loss");
		}
		await pause(pollMs, signal);
	}
}

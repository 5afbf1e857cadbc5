import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { WorkerSlots } from "../../concurrency/worker-slots.ts";
import type { Task } from "../request/responder.ts";

/**
 * Releases events of these dates, one date in each turn of the account: a release takes memory and a processor, which
 * cutting needs. Returns the dates of which there were events.
 */
export async function releaseInTurns(
	account: string,
	dates: readonly UtcDate[],
	turns: WorkerSlots,
	task: Task,
	release: (date: UtcDate) => Promise<number>,
): Promise<{ date: UtcDate; events: number }[]> {
	const released: { date: UtcDate; events: number }[] = [];
	for (const date of dates) {
		task.progress = () => `other releases come before that of ${date}`;
		const events = await turns.run(account, () => {
			task.stopping.throwIfAborted();
			task.progress = () => `releasing events of ${date}`;
			return release(date);
		});
		if (events > 0) released.push({ date, events });
	}
	return released;
}

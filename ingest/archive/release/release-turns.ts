import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { WorkerSlots } from "../../concurrency/worker-slots.ts";
import type { Task } from "../request/responder.ts";

/** The release of one date. */
export interface Parts {
	/** Releases one part. Returns whether any are left. */
	next(): Promise<boolean>;
	/** Of all parts. */
	readonly events: number;
}

/**
 * Releases events of these dates, one part of a date in each turn of the account: a release takes memory and a processor,
 * which cutting needs. Returns the dates of which there were events.
 */
export async function releaseInTurns(
	account: string,
	dates: readonly UtcDate[],
	turns: WorkerSlots,
	task: Task,
	begin: (date: UtcDate) => Parts,
): Promise<{ date: UtcDate; events: number }[]> {
	const released: { date: UtcDate; events: number }[] = [];
	for (const date of dates) {
		let parts: Parts | undefined;
		for (let isLeft = true; isLeft; ) {
			task.progress = () => `other releases come before that of ${date}`;
			isLeft = await turns.run(account, () => {
				task.stopping.throwIfAborted();
				task.progress = () => `releasing events of ${date}`;
				parts ??= begin(date);
				return parts.next();
			});
		}
		const { events } = parts!;
		if (events > 0) released.push({ date, events });
	}
	return released;
}

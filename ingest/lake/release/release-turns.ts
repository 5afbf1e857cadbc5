import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { requireTurn } from "../request/require-turn.ts";
import type { Task } from "../request/responder.ts";

/** More than operator asks for at once. Archive isn't told of an Operation that is deleted, so its release still waits. */
const maxWaiting = 16;

/** The release of one date. */
export interface Parts {
	/** Releases one part. Returns whether any are left. */
	next(): Promise<boolean>;
	/** Of all parts. */
	readonly events: number;
}

/**
 * Releases events of these dates, one part of a date in each turn of the account: a release takes memory and a processor,
 * which cutting needs. Returns the dates that had matching events, and how many. Throws {@link RequestFailure} ArchiveBusy
 * if too many releases of the account wait.
 */
export async function releaseInTurns(
	account: string,
	dates: readonly UtcDate[],
	turns: FairLimit,
	task: Task,
	begin: (date: UtcDate) => Parts,
): Promise<{ date: UtcDate; events: number }[]> {
	requireTurn(turns, account, maxWaiting, "releases");
	const released: { date: UtcDate; events: number }[] = [];
	for (const date of dates) {
		let parts: Parts | undefined;
		for (let isLeft = true; isLeft; ) {
			task.progress = () => `waiting for other releases; ${date} is next`;
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

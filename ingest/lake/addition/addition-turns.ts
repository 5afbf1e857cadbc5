import type { AdditionAnswer } from "../../../packages/contracts/archive.ts";
import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { requireTurn } from "../request/requirements.ts";
import type { RequestTask } from "../request/responder.ts";

/** More than operator asks for at once. Archive isn't told of an Operation that is deleted, so its additions still wait. */
const maxWaiting = 16;

/** A part of what an Operation adds. */
export interface AdditionWork {
	/** What it is, for people. */
	name: string;
	/** Takes the next step. Returns whether any are left. */
	next(): Promise<boolean>;
}

export type AddedDates = Extract<AdditionAnswer, { ok: true }>["dates"];

/**
 * Does an Operation's work, one step in each turn of its account: a step takes memory and a processor, which cutting needs.
 * Throws {@link RequestFailure} ArchiveBusy if too much of the account's work waits.
 */
export async function addInTurns(
	account: string,
	works: Iterable<AdditionWork>,
	turns: FairLimit,
	task: RequestTask,
): Promise<void> {
	requireTurn(turns, account, maxWaiting, "Operations");
	for (const { name, next } of works)
		for (let isLeft = true; isLeft; ) {
			task.progress = () => `waiting for other Operations; ${name} is next`;
			isLeft = await turns.run(account, () => {
				task.stopping.throwIfAborted();
				task.progress = () => `adding ${name}`;
				return next();
			});
		}
}

import type { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { RequestFailure } from "./errors.ts";

/**
 * Throws {@link RequestFailure} ArchiveBusy if so much of the account's work waits for its turn.
 * @param work what waits, such as "releases".
 */
export function requireTurn(
	turns: Pick<FairLimit, "waitingOf">,
	account: string,
	most: number,
	work: string,
): void {
	if (turns.waitingOf(account) >= most)
		throw new RequestFailure(
			"ArchiveBusy",
			`${most} ${work} of ${account} wait for their turn`,
		);
}

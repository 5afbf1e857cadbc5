import { RequestError } from "../http/errors.ts";

const maxOfAccount = 5;
const maxOfAll = 100;

/** Bounds the tails of this process: each holds a connection, and some of archive's time. */
export class OpenTails {
	readonly #byAccount = new Map<string, number>();
	#all = 0;

	/** Returns what ends the tail. Throws a 429 if there are too many. */
	enter(account: string): () => void {
		const own = this.#byAccount.get(account) ?? 0;
		if (own >= maxOfAccount || this.#all >= maxOfAll)
			throw new RequestError(
				"RateLimited",
				own >= maxOfAccount
					? `The account has ${own} open tails, and may have no more. Close one, then retry.`
					: "Too many tails are open. Retry later.",
				{ headers: { "retry-after": "10" } },
			);
		this.#byAccount.set(account, own + 1);
		this.#all++;
		let isOpen = true;
		return () => {
			if (!isOpen) return;
			isOpen = false;
			this.#all--;
			const left = this.#byAccount.get(account)! - 1;
			if (left > 0) this.#byAccount.set(account, left);
			else this.#byAccount.delete(account);
		};
	}
}

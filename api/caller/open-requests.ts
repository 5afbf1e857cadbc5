import { RequestError } from "../http/errors.ts";

/**
 * Shares the places for connections between those who have a valid token, because a request holds its place for as long as it is sent,
 * waits, or follows a log. Each may have as many requests open as there are free places (the dynamic threshold of Choudhury and
 * Hahne, as in FairQuota): one alone half of all, and however many have their share, the next one still gets one.
 */
export class OpenRequests {
	readonly #places: number;
	readonly #open = new Map<string, number>();
	#total = 0;

	constructor(places: number) {
		this.#places = places;
	}

	/**
	 * Takes a place for the subject, an account or a user, and returns what gives it back. Throws a {@link RequestError} beyond the
	 * subject's share.
	 */
	open(subject: string): () => void {
		const own = this.#open.get(subject) ?? 0;
		if (own >= this.#places - this.#total)
			throw new RequestError(
				"RateLimited",
				`${own} requests are open; all tokens of an account count together. Let some of them end, such as followed logs, and retry.`,
				{ headers: { "retry-after": "1" } },
			);
		this.#total++;
		this.#open.set(subject, own + 1);
		return () => this.#close(subject);
	}

	#close(subject: string): void {
		this.#total--;
		const left = this.#open.get(subject)! - 1;
		if (left > 0) this.#open.set(subject, left);
		else this.#open.delete(subject);
	}
}

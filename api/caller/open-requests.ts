import { FairRoom } from "../../packages/fair/fair-room.ts";
import { RequestError } from "../http/errors.ts";

/**
 * Shares the places for connections between those who have a valid token, because a request holds its place for as long as it is sent,
 * waits, or follows a log. One alone may have half of all.
 */
export class OpenRequests {
	readonly #places: FairRoom;

	constructor(places: number) {
		// The last place is somebody's, too.
		this.#places = new FairRoom(places + 1);
	}

	/**
	 * Takes a place for the subject, an account or a user, and returns what gives it back. Throws a {@link RequestError} beyond the
	 * subject's share.
	 */
	open(subject: string): () => void {
		if (!this.#places.take(subject, 1))
			throw new RequestError(
				"RateLimited",
				`${this.#places.takenBy(subject)} requests are open; all tokens of an account count together. Let some of them end, such as followed logs, and retry.`,
				{ headers: { "retry-after": "1" } },
			);
		return () => this.#places.giveBack(subject, 1);
	}
}

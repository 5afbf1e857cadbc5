import { FairLimit, NoTurn } from "../../packages/fair/fair-limit.ts";
import { RequestError } from "../http/errors.ts";

/** Some thousand reviews a second: an apiserver answers one in milliseconds. */
const usualLimits: {
	/** Reviews at once. */
	maxRunning: number;
	/** Requests that wait for a review. */
	maxWaiting: number;
	maxWaitMs: number;
} = {
	maxRunning: 16,
	maxWaiting: 4_000,
	maxWaitMs: 10_000,
};

/**
 * Bounds the reviews of tokens that aren't known to be valid. Networks take turns, and when too many requests wait, the
 * network with most of them loses its newest. So whoever guesses tokens delays mostly their own network.
 */
export class ReviewQueue {
	readonly #limit: FairLimit;

	constructor({ maxRunning, maxWaiting, maxWaitMs } = usualLimits) {
		this.#limit = new FairLimit({ atOnce: maxRunning, maxWaiting, maxWaitMs });
	}

	/**
	 * Reviews when it is the request's turn. Throws a 503 if too many wait or it waits too long.
	 *
	 * @param gone fires when the client has disconnected.
	 */
	async run<T>(
		network: string,
		gone: AbortSignal,
		review: () => Promise<T>,
	): Promise<T> {
		try {
			return await this.#limit.run(network, review, gone);
		} catch (error) {
			if (!(error instanceof NoTurn)) throw error;
			throw new RequestError(
				"Unavailable",
				"Too many requests with unknown tokens are waiting. Retry the request.",
				{ headers: { "retry-after": "2" } },
			);
		}
	}
}

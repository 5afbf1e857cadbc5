import { Turns } from "../../packages/fair/turns.ts";
import { RequestError } from "../http/errors.ts";

export interface ReviewLimits {
	/** Reviews at once. */
	maxRunning: number;
	/** Requests that wait for a review. */
	maxWaiting: number;
	maxWaitMs: number;
}

/** Some thousand reviews a second: an apiserver answers one in milliseconds. */
const usualLimits: ReviewLimits = {
	maxRunning: 16,
	maxWaiting: 4_000,
	maxWaitMs: 10_000,
};

interface Waiter {
	begin(): void;
	refuse(): void;
}

/**
 * Bounds the reviews of tokens that aren't known to be valid. Networks take turns, and when too many requests wait, the
 * network with most of them loses its newest. So whoever guesses tokens delays mostly their own network.
 */
export class ReviewQueue {
	readonly #limits: ReviewLimits;
	readonly #waiting = new Turns<Waiter>();
	#running = 0;

	constructor(limits = usualLimits) {
		this.#limits = limits;
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
		if (this.#running < this.#limits.maxRunning) this.#running++;
		else await this.#turn(network, gone);
		try {
			return await review();
		} finally {
			this.#next();
		}
	}

	#turn(network: string, gone: AbortSignal): Promise<void> {
		if (gone.aborted) throw tooManyUnknown();
		this.#makeRoom(network);
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const refuse = () => reject(tooManyUnknown());
		const waiter = { begin: resolve, refuse };
		this.#waiting.add(network, waiter);
		const withdraw = () => {
			if (this.#waiting.withdraw(network, waiter)) refuse();
		};
		const timer = setTimeout(withdraw, this.#limits.maxWaitMs);
		gone.addEventListener("abort", withdraw, { once: true });
		return promise.finally(() => {
			clearTimeout(timer);
			gone.removeEventListener("abort", withdraw);
		});
	}

	#makeRoom(network: string): void {
		if (this.#waiting.size < this.#limits.maxWaiting) return;
		const newest = this.#waiting.newestOfLongest();
		const own = this.#waiting.sizeOf(network);
		if (!newest || this.#waiting.sizeOf(newest.owner) <= own + 1)
			throw tooManyUnknown();
		this.#waiting.withdraw(newest.owner, newest.item);
		newest.item.refuse();
	}

	#next(): void {
		const next = this.#waiting.take();
		if (next) next.item.begin();
		else this.#running--;
	}
}

function tooManyUnknown(): RequestError {
	return new RequestError(
		"Unavailable",
		"Too many requests with unknown tokens are waiting. Retry the request.",
		{ headers: { "retry-after": "2" } },
	);
}

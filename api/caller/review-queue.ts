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
	/** The waiting requests of each network, oldest first. The first network is next. */
	readonly #lanes = new Map<string, Waiter[]>();
	#running = 0;
	#waiting = 0;

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
		const lane = this.#lanes.get(network) ?? [];
		this.#lanes.set(network, lane);
		lane.push(waiter);
		this.#waiting++;
		const withdraw = () => {
			if (this.#remove(network, waiter)) refuse();
		};
		const timer = setTimeout(withdraw, this.#limits.maxWaitMs);
		gone.addEventListener("abort", withdraw, { once: true });
		return promise.finally(() => {
			clearTimeout(timer);
			gone.removeEventListener("abort", withdraw);
		});
	}

	#makeRoom(network: string): void {
		if (this.#waiting < this.#limits.maxWaiting) return;
		const own = this.#lanes.get(network)?.length ?? 0;
		const [longest, lane] = [...this.#lanes].reduce((a, b) =>
			b[1].length > a[1].length ? b : a,
		);
		if (lane.length <= own + 1) throw tooManyUnknown();
		const newest = lane.at(-1)!;
		this.#remove(longest, newest);
		newest.refuse();
	}

	#remove(network: string, waiter: Waiter): boolean {
		const lane = this.#lanes.get(network) ?? [];
		const at = lane.lastIndexOf(waiter);
		if (at < 0) return false;
		lane.splice(at, 1);
		this.#waiting--;
		if (lane.length === 0) this.#lanes.delete(network);
		return true;
	}

	#next(): void {
		const [first] = this.#lanes;
		if (!first) {
			this.#running--;
			return;
		}
		const [network, lane] = first;
		const next = lane.shift()!;
		this.#waiting--;
		this.#lanes.delete(network);
		if (lane.length > 0) this.#lanes.set(network, lane);
		next.begin();
	}
}

function tooManyUnknown(): RequestError {
	return new RequestError(
		"Unavailable",
		"Too many requests with unknown tokens are waiting. Retry the request.",
		{ headers: { "retry-after": "2" } },
	);
}

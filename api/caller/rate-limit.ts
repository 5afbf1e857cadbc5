import { setImmediate as nextTurn } from "node:timers/promises";
import { RequestError } from "../http/errors.ts";

/** Counts that all replicas share. */
export interface SharedCounter {
	/** Adds requests to a subject's count in a window and returns the new count. Throws if the count is unknown. */
	add(window: number, subject: string, requests: number): Promise<number>;
}

export interface RateLimitOptions {
	/** Requests per subject and window. */
	limit: number;
	windowMs: number;
	shared?: SharedCounter | undefined;
	now?: () => number;
}

/** A subject's standing after one more request. */
export interface RateStatus {
	limit: number;
	remaining: number;
	/** Seconds until the window ends and the count restarts. */
	resetSeconds: number;
	isExceeded: boolean;
}

/**
 * The share of the limit that a replica reserves with each call to the shared counter: at most 17 calls a second per
 * subject and replica, however many requests arrive. A replica that gets no more requests withholds a thousandth.
 */
const reservedShare = 1 / 1_000;
/** After a failure, no request waits for the shared counter for this long. */
const pauseMs = 1_000;

// Not @fastify/rate-limit: its store is asked once for each request, where one call to NATS has to cover many; it has one key for
// a request, where who is counted depends on whether the token proves valid; and without its store it counts nothing.
/**
 * Limits the requests per subject and window of the clock over all replicas. While the shared counter is unavailable,
 * each replica counts alone.
 */
export class RateLimit {
	readonly #options: RateLimitOptions;
	readonly #now: () => number;
	readonly #shared: BatchedCounter | undefined;
	#window = 0;
	#counts = new Map<string, number>();
	#pausedUntil = 0;

	constructor(options: RateLimitOptions) {
		this.#options = options;
		this.#now = options.now ?? Date.now;
		const reserve = Math.floor(options.limit * reservedShare);
		this.#shared =
			options.shared && new BatchedCounter(options.shared, reserve);
	}

	/**
	 * Counts a request of the subject.
	 * @param times how many times the usual limit the subject has.
	 */
	async count(subject: string, times = 1): Promise<RateStatus> {
		const window = this.#currentWindow();
		const own = (this.#counts.get(subject) ?? 0) + 1;
		this.#counts.set(subject, own);
		const count = (await this.#sharedCount(window, subject)) ?? own;
		if (window === this.#window)
			this.#counts.set(subject, Math.max(count, this.#counts.get(subject)!));
		return this.#status(window, count, times);
	}

	/** The subject's standing as far as this replica knows. Counts nothing and excludes nobody. */
	standing(subject: string): RateStatus {
		const window = this.#currentWindow();
		const status = this.#status(window, this.#counts.get(subject) ?? 0);
		return { ...status, isExceeded: false };
	}

	async #sharedCount(
		window: number,
		subject: string,
	): Promise<number | undefined> {
		if (!this.#shared || this.#now() < this.#pausedUntil) return undefined;
		try {
			return await this.#shared.add(window, subject);
		} catch {
			// NATS is away, as the log of its connection says. Fall back to this replica's count.
			this.#pausedUntil = this.#now() + pauseMs;
			return undefined;
		}
	}

	#currentWindow(): number {
		const window = Math.floor(this.#now() / this.#options.windowMs);
		if (window !== this.#window) {
			this.#window = window;
			this.#counts = new Map();
		}
		return window;
	}

	#status(window: number, count: number, times = 1): RateStatus {
		const { windowMs } = this.#options;
		const limit = this.#options.limit * times;
		const leftMs = Math.max(0, (window + 1) * windowMs - this.#now());
		return {
			limit,
			remaining: Math.max(0, limit - count),
			resetSeconds: Math.ceil(leftMs / 1000),
			isExceeded: count > limit,
		};
	}
}

export function rateHeaders(status: RateStatus): Record<string, string> {
	return {
		"x-ratelimit-limit": String(status.limit),
		"x-ratelimit-remaining": String(status.remaining),
		"x-ratelimit-reset": String(status.resetSeconds),
	};
}

/** @param isAuthenticated whether the limit is the account's or user's, not that of all requests from a network without a valid token. */
export function rateLimited(
	{ limit, resetSeconds }: RateStatus,
	isAuthenticated: boolean,
): RequestError {
	return new RequestError(
		"RateLimited",
		isAuthenticated
			? `More than ${limit} requests in a minute; all tokens of an account count together. Retry in ${resetSeconds} seconds.`
			: `More than ${limit} requests without a valid token came from your network in a minute. Send a valid token, or retry in ${resetSeconds} seconds.`,
		{ headers: { "retry-after": String(resetSeconds) } },
	);
}

/** A subject's counts in a window. */
interface Counts {
	/** The counts from `next` to `last` are reserved and not yet used. */
	next: number;
	last: number;
	/** Requests that wait for a count. */
	waiting: number;
	/** Settles when the pending call has reserved more. */
	refill: Promise<void> | undefined;
}

/**
 * Batches the calls to a shared counter: one call covers all requests of a subject that arrive in one turn of the event
 * loop or while the previous call is pending. Each request still gets a count of its own.
 */
export class BatchedCounter {
	readonly #counter: SharedCounter;
	readonly #reserve: number;
	#window = 0;
	/** By subject, in this window. */
	#counts = new Map<string, Counts>();

	/** @param reserve how many counts each call reserves for later requests. Unused ones lapse with the window. */
	constructor(counter: SharedCounter, reserve: number) {
		this.#counter = counter;
		this.#reserve = reserve;
	}

	/** Adds one request and returns its count. Throws as the counter does. */
	async add(window: number, subject: string): Promise<number> {
		const counts = this.#countsOf(window, subject);
		counts.waiting++;
		try {
			while (counts.next > counts.last) {
				counts.refill ??= this.#refill(counts, window, subject);
				await counts.refill;
			}
			return counts.next++;
		} finally {
			counts.waiting--;
		}
	}

	#countsOf(window: number, subject: string): Counts {
		if (window !== this.#window) {
			this.#window = window;
			this.#counts = new Map();
		}
		let counts = this.#counts.get(subject);
		if (!counts) {
			counts = { next: 1, last: 0, waiting: 0, refill: undefined };
			this.#counts.set(subject, counts);
		}
		return counts;
	}

	async #refill(
		counts: Counts,
		window: number,
		subject: string,
	): Promise<void> {
		try {
			await nextTurn();
			const size = counts.waiting + this.#reserve;
			const total = await this.#counter.add(window, subject, size);
			counts.next = total - size + 1;
			counts.last = total;
		} finally {
			counts.refill = undefined;
		}
	}
}

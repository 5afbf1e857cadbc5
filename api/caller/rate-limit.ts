import { RequestError } from "../errors.ts";
import { GroupedCounter } from "./grouped-counter.ts";

/** Counts that all replicas share. */
export interface SharedCounter {
	/** Adds requests to a subject's count in a window, and returns it. Throws when that can't be told. */
	add(window: number, subject: string, requests: number): Promise<number>;
}

export interface RateLimitOptions {
	/** Requests that a subject has in a window. */
	limit: number;
	windowMs: number;
	shared?: SharedCounter | undefined;
	now?: () => number;
}

/** Where a subject stands after one more request. */
export interface Rate {
	limit: number;
	remaining: number;
	/** Seconds until the window ends, and all is forgotten. */
	resetSeconds: number;
	isOver: boolean;
}

/**
 * What each replica counts ahead, of the limit: so a subject costs NATS at most 17 questions a second and replica, however
 * many requests it may send, and a replica that isn't asked again keeps back a thousandth.
 */
const shareAhead = 1 / 1_000;
/** After a failure nobody waits for the shared counter so long. */
const pauseMs = 1_000;

/**
 * So many requests per subject and window of the clock, whichever replica they come to; each replica counts for itself
 * as long as it can't ask the shared counter.
 */
export class RateLimit {
	readonly #options: RateLimitOptions;
	readonly #now: () => number;
	readonly #shared: GroupedCounter | undefined;
	#window = 0;
	#counts = new Map<string, number>();
	#pausedUntil = 0;

	constructor(options: RateLimitOptions) {
		this.#options = options;
		this.#now = options.now ?? Date.now;
		const ahead = Math.floor(options.limit * shareAhead);
		this.#shared = options.shared && new GroupedCounter(options.shared, ahead);
	}

	/** Counts a request of the subject. */
	async take(subject: string): Promise<Rate> {
		const window = this.#currentWindow();
		const own = (this.#counts.get(subject) ?? 0) + 1;
		this.#counts.set(subject, own);
		const count = (await this.#sharedCount(window, subject)) ?? own;
		if (window === this.#window)
			this.#counts.set(subject, Math.max(count, this.#counts.get(subject)!));
		return this.#rate(window, count);
	}

	/** The subject has had all that it may in this window, as far as this replica knows. Counts nothing. */
	isUsedUp(subject: string): boolean {
		this.#currentWindow();
		return (this.#counts.get(subject) ?? 0) >= this.#options.limit;
	}

	async #sharedCount(
		window: number,
		subject: string,
	): Promise<number | undefined> {
		if (!this.#shared || this.#now() < this.#pausedUntil) return undefined;
		try {
			return await this.#shared.add(window, subject);
		} catch {
			// NATS is away, which its own log says: this replica's count is the best that there is.
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

	#rate(window: number, count: number): Rate {
		const { limit, windowMs } = this.#options;
		const leftMs = Math.max(0, (window + 1) * windowMs - this.#now());
		return {
			limit,
			remaining: Math.max(0, limit - count),
			resetSeconds: Math.ceil(leftMs / 1000),
			isOver: count > limit,
		};
	}
}

export function rateHeaders(rate: Rate): Record<string, string> {
	return {
		"x-ratelimit-limit": String(rate.limit),
		"x-ratelimit-remaining": String(rate.remaining),
		"x-ratelimit-reset": String(rate.resetSeconds),
	};
}

export function rateLimited({ limit, resetSeconds }: Rate): RequestError {
	return new RequestError(
		"RateLimited",
		`That was more than ${limit} requests in a minute. Go on in ${resetSeconds} seconds.`,
		{ headers: { "retry-after": String(resetSeconds) } },
	);
}

/** What may happen at once after a quiet time, and how fast that grows back. */
export interface TokenRate {
	burst: number;
	perSecond: number;
}

/** Lets a burst through at once, and the rest at a steady rate (as golang.org/x/time/rate). */
export class TokenBucket {
	readonly #perMs: number;
	readonly #burst: number;
	/** Negative when tokens are already promised. */
	#tokens: number;
	#countedMs: number | undefined;

	constructor({ perSecond, burst }: TokenRate) {
		this.#perMs = perSecond / 1000;
		this.#burst = burst;
		this.#tokens = burst;
	}

	/**
	 * Takes a token. Returns how many milliseconds to wait for it.
	 * @param nowMs from a monotonic clock, as for {@link take}.
	 */
	reserve(nowMs: number): number {
		this.#grow(nowMs);
		this.#tokens--;
		return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
	}

	/** Takes a token, or returns false if there is none. */
	take(nowMs: number): boolean {
		this.#grow(nowMs);
		if (this.#tokens < 1) return false;
		this.#tokens--;
		return true;
	}

	#grow(nowMs: number): void {
		const passedMs = nowMs - (this.#countedMs ?? nowMs);
		this.#countedMs = nowMs;
		this.#tokens = Math.min(this.#burst, this.#tokens + passedMs * this.#perMs);
	}
}

/** Lets a burst through at once, and the rest at a steady rate (as golang.org/x/time/rate). */
export class TokenBucket {
	readonly #perMs: number;
	readonly #burst: number;
	/** Negative when tokens are already promised. */
	#tokens: number;
	#countedMs: number | undefined;

	constructor({ perSecond, burst }: { perSecond: number; burst: number }) {
		this.#perMs = perSecond / 1000;
		this.#burst = burst;
		this.#tokens = burst;
	}

	/**
	 * Takes a token. Returns how many milliseconds to wait for it.
	 * @param nowMs from a monotonic clock.
	 */
	reserve(nowMs: number): number {
		const passedMs = nowMs - (this.#countedMs ?? nowMs);
		this.#countedMs = nowMs;
		this.#tokens =
			Math.min(this.#burst, this.#tokens + passedMs * this.#perMs) - 1;
		return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
	}
}

/** Questions that an account may ask at once after a quiet time, and how fast that grows back. */
const burst = 20;
const perSecond = 0.1;
/** Of accounts. One that is forgotten begins with a full burst. */
const maxRemembered = 10_000;

/** How often each account may have Amazon called: whoever has a webhook URL can write messages with any URL of Amazon's. */
export class Allowance {
	readonly #left = new Map<string, { questions: number; atMs: number }>();

	/** Whether the account may ask now. @param nowMs of a clock that never jumps. */
	take(account: string, nowMs: number): boolean {
		const { questions, atMs } = this.#left.get(account) ?? {
			questions: burst,
			atMs: nowMs,
		};
		const grown = ((nowMs - atMs) / 1000) * perSecond;
		const left = Math.min(burst, questions + grown);
		const may = left >= 1;
		// The least recently used ones are forgotten.
		this.#left.delete(account);
		this.#left.set(account, { questions: may ? left - 1 : left, atMs: nowMs });
		if (this.#left.size > maxRemembered)
			this.#left.delete(this.#left.keys().next().value!);
		return may;
	}
}

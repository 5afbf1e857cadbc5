/** Wakes the one who waits. A ring before the wait counts, so nothing is missed in between. */
export class Doorbell {
	#rung = false;
	#wake: (() => void) | undefined;

	ring(): void {
		this.#rung = true;
		this.#wake?.();
	}

	/** Settles at the next ring, or after `timeoutMs` (Infinity waits for ever). */
	async wait(timeoutMs: number): Promise<void> {
		if (!this.#rung)
			await new Promise<void>((resolve) => {
				const timer = Number.isFinite(timeoutMs)
					? setTimeout(resolve, timeoutMs)
					: undefined;
				this.#wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		this.#wake = undefined;
		this.#rung = false;
	}
}

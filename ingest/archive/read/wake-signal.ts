/** Wakes the one waiter. A wake before the wait counts, so none is missed. */
export class WakeSignal {
	#isSet = false;
	#resolve: (() => void) | undefined;

	wake(): void {
		this.#isSet = true;
		this.#resolve?.();
	}

	/** Settles at the next wake, or after `timeoutMs` (Infinity: never). */
	async wait(timeoutMs: number): Promise<void> {
		if (!this.#isSet)
			await new Promise<void>((resolve) => {
				const timer = Number.isFinite(timeoutMs)
					? setTimeout(resolve, timeoutMs)
					: undefined;
				this.#resolve = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		this.#resolve = undefined;
		this.#isSet = false;
	}
}

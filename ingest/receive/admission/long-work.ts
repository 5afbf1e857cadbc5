import { OwnerTurns } from "../../../packages/fair/fair-limit.ts";

/** Bytes that long work may visit in one turn of the event loop: about a millisecond of the slowest texts (brackets). */
export const bytesPerTurn = 64 * 1024;

/**
 * Does long work in steps between which the event loop serves everybody else. Accounts take turns step by step, so that
 * no account waits for another's queue. What waits is bounded by receive's budget of bytes.
 */
export class LongWorkQueue {
	readonly #defer: (run: () => void) => void;
	/** Each does one step, and returns how many bytes it visited; undefined when the work is done. */
	readonly #waiting = new OwnerTurns<() => number | undefined>();
	#isDeferred = false;

	/** @param defer runs a function in the event loop's next turn. */
	constructor(defer: (run: () => void) => void = setImmediate) {
		this.#defer = defer;
	}

	/** Settles with the result of the work; rejects with what it throws. */
	run<T>(account: string, steps: LongWork<T>): Promise<T> {
		return new Promise((resolve, reject) => {
			this.#waiting.add(account, () => {
				try {
					const { done, value } = steps.next();
					if (!done) return value;
					resolve(value);
				} catch (error) {
					reject(error);
				}
				return undefined;
			});
			this.#continue();
		});
	}

	#continue(): void {
		if (this.#isDeferred || this.#waiting.size === 0) return;
		this.#isDeferred = true;
		this.#defer(() => {
			this.#isDeferred = false;
			for (let bytes = 0; bytes < bytesPerTurn; ) {
				const next = this.#waiting.take();
				if (!next) return;
				const visited = next.item();
				if (visited === undefined) continue;
				bytes += visited;
				this.#waiting.putBack(next.owner, next.item);
			}
			this.#continue();
		});
	}
}

/** Long work that can pause: it yields how many bytes it has visited since it last paused, at most {@link stepBytes} and a few. */
export type LongWork<T> = Generator<number, T, void>;

export const stepBytes = 16 * 1024;

/** Does all of the work now. */
export function doNow<T>(steps: LongWork<T>): T {
	for (;;) {
		const { done, value } = steps.next();
		if (done) return value;
	}
}

import type { Steps } from "../accept/steps.ts";

/** Bytes that long work may visit in one turn of the event loop: half a millisecond. */
export const bytesPerTurn = 128 * 1024;

/** Work of one account, oldest first. */
type Lane = (() => number | undefined)[];

/**
 * Does long work in steps between which the event loop serves everybody else. Accounts take turns step by step, so that
 * no account waits for another's queue. What waits is bounded by receive's budget of bytes.
 */
export class TurnSharing {
	readonly #defer: (run: () => void) => void;
	readonly #lanes = new Map<string, Lane>();
	#isWaiting = false;

	/** @param defer runs a function in the event loop's next turn. */
	constructor(defer: (run: () => void) => void = setImmediate) {
		this.#defer = defer;
	}

	/** Settles with the result of the work; rejects with what it throws. */
	run<T>(account: string, steps: Steps<T>): Promise<T> {
		return new Promise((resolve, reject) => {
			const lane = this.#lanes.get(account) ?? [];
			this.#lanes.set(account, lane);
			lane.push(() => {
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
		if (this.#isWaiting || this.#lanes.size === 0) return;
		this.#isWaiting = true;
		this.#defer(() => {
			this.#isWaiting = false;
			for (let bytes = 0; bytes < bytesPerTurn && this.#lanes.size > 0; )
				bytes += this.#step();
			this.#continue();
		});
	}

	/** One step of the next account's oldest work. */
	#step(): number {
		const [[account, lane]] = this.#lanes as Iterable<[string, Lane]> as [
			[string, Lane],
		];
		this.#lanes.delete(account);
		const visited = lane[0]!();
		if (visited === undefined) lane.shift();
		// It is the last in turn now.
		if (lane.length > 0) this.#lanes.set(account, lane);
		return visited ?? 0;
	}
}

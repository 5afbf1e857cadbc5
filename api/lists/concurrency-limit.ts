/** Runs at most `limit` tasks at once. The others wait in the order in which they came. */
export class ConcurrencyLimit {
	readonly #waiting: (() => void)[] = [];
	#free: number;

	constructor(limit: number) {
		this.#free = limit;
	}

	async run<T>(task: () => Promise<T>): Promise<T> {
		if (this.#free > 0) this.#free--;
		else await new Promise<void>((resolve) => this.#waiting.push(resolve));
		try {
			return await task();
		} finally {
			const next = this.#waiting.shift();
			if (next) next();
			else this.#free++;
		}
	}
}

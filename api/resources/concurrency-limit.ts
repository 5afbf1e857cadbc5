/** Lets so many do their work at once; the others wait for their turn, in the order in which they came. */
export class Turnstile {
	readonly #waiting: (() => void)[] = [];
	#free: number;

	constructor(places: number) {
		this.#free = places;
	}

	async pass<T>(work: () => Promise<T>): Promise<T> {
		if (this.#free > 0) this.#free--;
		else await new Promise<void>((resolve) => this.#waiting.push(resolve));
		try {
			return await work();
		} finally {
			const next = this.#waiting.shift();
			if (next) next();
			else this.#free++;
		}
	}
}

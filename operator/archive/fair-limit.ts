/**
 * Lets at most so many pieces of work of a group run at once; the others wait in their order. A group never waits for
 * another one.
 */
export class FairLimit {
	readonly #atOnce: number;
	readonly #running = new Map<string, number>();
	readonly #waiting = new Map<string, (() => void)[]>();

	constructor(atOnce: number) {
		this.#atOnce = atOnce;
	}

	async run<T>(group: string, work: () => Promise<T>): Promise<T> {
		const running = this.#running.get(group) ?? 0;
		if (running < this.#atOnce) this.#running.set(group, running + 1);
		else await this.#turn(group);
		try {
			return await work();
		} finally {
			this.#leave(group);
		}
	}

	#turn(group: string): Promise<void> {
		const waiting = this.#waiting.get(group) ?? [];
		this.#waiting.set(group, waiting);
		return new Promise((resolve) => waiting.push(resolve));
	}

	/** The place goes to the next one of the group. */
	#leave(group: string): void {
		const waiting = this.#waiting.get(group);
		const next = waiting?.shift();
		if (waiting?.length === 0) this.#waiting.delete(group);
		const running = this.#running.get(group)!;
		if (next) next();
		else if (running === 1) this.#running.delete(group);
		else this.#running.set(group, running - 1);
	}
}

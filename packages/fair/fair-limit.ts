import { Turns } from "./turns.ts";

/** Lets a few pieces of work run at once. The others wait, and accounts take turns. */
export class WorkerSlots {
	readonly #waiting = new Turns<() => Promise<void>>();
	#free: number;

	constructor(slots: number) {
		this.#free = slots;
	}

	/** How many pieces of the account's work wait for their turn. */
	waitingOf(account: string): number {
		return this.#waiting.sizeOf(account);
	}

	/** Settles as the work does, once it has had its turn. */
	run<T>(account: string, work: () => Promise<T>): Promise<T> {
		const { promise, resolve, reject } = Promise.withResolvers<T>();
		this.#waiting.add(account, async () => {
			try {
				resolve(await work());
			} catch (error) {
				reject(error);
			}
		});
		this.#startNext();
		return promise;
	}

	#startNext(): void {
		while (this.#free > 0) {
			const next = this.#waiting.take();
			if (!next) return;
			this.#free--;
			void next.item().finally(() => {
				this.#free++;
				this.#startNext();
			});
		}
	}
}

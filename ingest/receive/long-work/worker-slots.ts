import { FairQueue } from "./fair-queue.ts";

/** Lets a few pieces of work run at once. The others wait, and accounts take turns. */
export class WorkerSlots {
	readonly #queue = new FairQueue<() => Promise<void>>();
	#free: number;

	constructor(slots: number) {
		this.#free = slots;
	}

	/** Settles as the work does, once it has had its turn. */
	run<T>(account: string, work: () => Promise<T>): Promise<T> {
		const { promise, resolve, reject } = Promise.withResolvers<T>();
		this.#queue.add(account, async () => {
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
		while (this.#free > 0 && !this.#queue.isEmpty) {
			this.#free--;
			this.#queue.next((start) => {
				void start().finally(() => {
					this.#free++;
					this.#startNext();
				});
				return false;
			});
		}
	}
}

import { FairLimit, NoTurn } from "../../packages/fair/fair-limit.ts";

/** What is at work at once. A receiver that hangs holds a place until its timeout. */
export interface DispatchLimits {
	overall: number;
	perAccount: number;
}

/** Works on items of accounts: accounts take turns, and none has more than its share of the places. */
export class FairDispatcher<T> {
	readonly #work: (item: T) => Promise<void>;
	readonly #limit: FairLimit;
	readonly #inHand = new Set<T>();
	readonly #stopping = new AbortController();
	#changed = Promise.withResolvers<void>();

	/** @param work never rejects. */
	constructor(
		{ overall, perAccount }: DispatchLimits,
		work: (item: T) => Promise<void>,
	) {
		this.#limit = new FairLimit({
			atOnce: overall,
			atOncePerOwner: perAccount,
		});
		this.#work = work;
	}

	/** All items that wait or are at work. */
	get inHand(): ReadonlySet<T> {
		return this.#inHand;
	}

	/** Settles when an item has been done. */
	get changed(): Promise<void> {
		return this.#changed.promise;
	}

	add(account: string, item: T): void {
		this.#inHand.add(item);
		void this.#run(account, item);
	}

	/** Forgets what waits. Settles when nothing is at work. */
	async stop(): Promise<void> {
		this.#stopping.abort();
		while (this.#inHand.size > 0) await this.changed;
	}

	async #run(account: string, item: T): Promise<void> {
		try {
			const { signal } = this.#stopping;
			await this.#limit.run(account, () => this.#work(item), signal);
		} catch (error) {
			if (!(error instanceof NoTurn)) throw error;
		}
		this.#inHand.delete(item);
		const { resolve } = this.#changed;
		this.#changed = Promise.withResolvers<void>();
		resolve();
	}
}

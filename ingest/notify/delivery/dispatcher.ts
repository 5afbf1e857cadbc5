import { Turns } from "../../../packages/fair/turns.ts";

/** What is at work at once. A receiver that hangs holds a place until its timeout. */
export interface Limits {
	overall: number;
	perAccount: number;
}

/** Works on items of accounts: accounts take turns, and none has more than its share of the places. */
export class Dispatcher<T> {
	readonly #limits: Limits;
	readonly #work: (item: T) => Promise<void>;
	readonly #turns = new Turns<T>();
	/** Of accounts that have their share of the places, oldest first. */
	readonly #parked = new Map<string, T[]>();
	readonly #atWork = new Map<string, number>();
	readonly #inHand = new Set<T>();
	#running = 0;
	#changed = Promise.withResolvers<void>();

	/** @param work never rejects. */
	constructor(limits: Limits, work: (item: T) => Promise<void>) {
		this.#limits = limits;
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
		this.#turns.add(account, item);
		this.#start();
	}

	/** Forgets what waits. Settles when nothing is at work. */
	async stop(): Promise<void> {
		this.#parked.clear();
		while (this.#turns.take());
		while (this.#running > 0) await this.changed;
	}

	#start(): void {
		while (this.#running < this.#limits.overall) {
			const next = this.#turns.take();
			if (!next) return;
			const { owner, item } = next;
			const count = this.#atWork.get(owner) ?? 0;
			if (count >= this.#limits.perAccount) {
				const parked = this.#parked.get(owner) ?? [];
				parked.push(item);
				this.#parked.set(owner, parked);
				continue;
			}
			this.#running++;
			this.#atWork.set(owner, count + 1);
			void this.#work(item).finally(() => this.#done(owner, item));
		}
	}

	#done(account: string, item: T): void {
		this.#running--;
		this.#inHand.delete(item);
		const left = this.#atWork.get(account)! - 1;
		if (left > 0) this.#atWork.set(account, left);
		else this.#atWork.delete(account);
		for (const each of this.#parked.get(account)?.toReversed() ?? [])
			this.#turns.putBack(account, each);
		this.#parked.delete(account);
		this.#start();
		const { resolve } = this.#changed;
		this.#changed = Promise.withResolvers<void>();
		resolve();
	}
}

export interface FairLimits {
	/** Pieces of work at once. */
	atOnce?: number;
	/** Of one owner. */
	atOncePerOwner?: number;
	/** Pieces of work that wait. Beyond them, the owner with the most of them loses its newest. */
	maxWaiting?: number;
	maxWaitMs?: number;
}

/** The work didn't begin: too much waited, it waited too long, or nobody wants it any more. */
export class NoTurn extends Error {
	override name = "NoTurn";
}

/**
 * Lets a few pieces of work run at once. The others wait in their order, and owners take turns. p-limit and p-queue know no
 * owners: with them, one account's backlog would hold up all others.
 */
export class FairLimit {
	readonly #limits: Required<FairLimits>;
	readonly #waiting = new OwnerTurns<{
		begin(): void;
		refuse(): void;
	}>();
	readonly #running = new Map<string, number>();
	#total = 0;

	constructor({
		atOnce = Infinity,
		atOncePerOwner = Infinity,
		maxWaiting = Infinity,
		maxWaitMs = Infinity,
	}: FairLimits) {
		this.#limits = { atOnce, atOncePerOwner, maxWaiting, maxWaitMs };
	}

	/** How many pieces of the owner's work wait for their turn. */
	waitingOf(owner: string): number {
		return this.#waiting.sizeOf(owner);
	}

	/**
	 * Settles as the work does, which begins at once if there is a place. Rejects with {@link NoTurn} if it never begins.
	 * @param unwanted fires when the work need not begin any more.
	 */
	async run<T>(
		owner: string,
		work: () => Promise<T>,
		unwanted?: AbortSignal,
	): Promise<T> {
		if (this.#hasPlace(owner)) return this.#begin(owner, work);
		if (unwanted?.aborted || !this.#makeRoom(owner)) throw new NoTurn();
		const { promise, resolve, reject } = Promise.withResolvers<T>();
		const { maxWaitMs } = this.#limits;
		const timer = Number.isFinite(maxWaitMs)
			? setTimeout(() => withdraw(), maxWaitMs)
			: undefined;
		const end = () => {
			clearTimeout(timer);
			unwanted?.removeEventListener("abort", withdraw);
		};
		const waiter = {
			begin: () => {
				end();
				resolve(this.#begin(owner, work));
			},
			refuse: () => {
				end();
				reject(new NoTurn());
			},
		};
		const withdraw = () => {
			if (this.#waiting.withdraw(owner, waiter)) waiter.refuse();
		};
		unwanted?.addEventListener("abort", withdraw);
		this.#waiting.add(owner, waiter);
		return promise;
	}

	async #begin<T>(owner: string, work: () => Promise<T>): Promise<T> {
		this.#total++;
		this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
		try {
			return await work();
		} finally {
			this.#leave(owner);
		}
	}

	#makeRoom(owner: string): boolean {
		if (this.#waiting.size < this.#limits.maxWaiting) return true;
		const newest = this.#waiting.newestOfLongest();
		const own = this.#waiting.sizeOf(owner);
		if (!newest || this.#waiting.sizeOf(newest.owner) <= own + 1) return false;
		this.#waiting.withdraw(newest.owner, newest.item);
		newest.item.refuse();
		return true;
	}

	#hasPlace(owner: string): boolean {
		const { atOnce, atOncePerOwner } = this.#limits;
		const running = this.#running.get(owner) ?? 0;
		return this.#total < atOnce && running < atOncePerOwner;
	}

	/** The place goes to the next one that may have it. */
	#leave(owner: string): void {
		this.#total--;
		const left = this.#running.get(owner)! - 1;
		if (left > 0) this.#running.set(owner, left);
		else this.#running.delete(owner);
		this.#waiting.take((each) => this.#hasPlace(each))?.item.begin();
	}
}

/** Returns a function that runs pieces of work one after another. A failure is only its own caller's. */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
	const limit = new FairLimit({ atOnce: 1 });
	return (work) => limit.run("", work);
}

/**
 * Like `Promise.all` over a list, with at most `limit` calls at a time. After an error it begins no more, and throws when those
 * that run have ended. p-map doesn't wait for them: a caller could free or undo what they still use.
 */
export async function mapConcurrently<In, Out>(
	list: readonly In[],
	limit: number,
	call: (item: In) => Promise<Out>,
): Promise<Out[]> {
	const results = new Array<Out>(list.length);
	const left = list.entries();
	let failure: { error: unknown } | undefined;
	const work = async () => {
		for (const [index, item] of left) {
			if (failure) return;
			try {
				results[index] = await call(item);
			} catch (error) {
				failure ??= { error };
			}
		}
	};
	await Promise.all(Array.from({ length: Math.min(limit, list.length) }, work));
	if (failure) throw failure.error;
	return results;
}

/**
 * The results of {@link mapConcurrently} one by one, in the order of the list. Memory holds `limit` of them: no more calls begin
 * until the first of them is taken.
 */
export async function* mapInOrder<In, Out>(
	list: Iterable<In> | AsyncIterable<In>,
	limit: number,
	call: (item: In) => Promise<Out>,
): AsyncGenerator<Out> {
	const running: Promise<Out>[] = [];
	try {
		for await (const item of list) {
			const result = call(item);
			// It is thrown when it is taken.
			result.catch(() => undefined);
			running.push(result);
			if (running.length >= limit) yield await running.shift()!;
		}
		while (running.length > 0) yield await running.shift()!;
	} finally {
		await Promise.allSettled(running);
	}
}

/** What waits: first come, first served within an owner, and owners take turns. So no owner waits behind another's queue. */
export class OwnerTurns<T> {
	/** Oldest first; the first owner is next. */
	readonly #lanes = new Map<string, T[]>();
	#size = 0;

	get size(): number {
		return this.#size;
	}

	sizeOf(owner: string): number {
		return this.#lanes.get(owner)?.length ?? 0;
	}

	add(owner: string, item: T): void {
		this.#laneOf(owner).push(item);
		this.#size++;
	}

	/**
	 * Takes the next owner's oldest item. The owner is then the last in turn.
	 * @param may passes over owners, which keep their turn.
	 */
	take(
		may: (owner: string) => boolean = () => true,
	): { owner: string; item: T } | undefined {
		for (const [owner, lane] of this.#lanes) {
			if (!may(owner)) continue;
			const item = lane.shift()!;
			this.#size--;
			this.#lanes.delete(owner);
			if (lane.length > 0) this.#lanes.set(owner, lane);
			return { owner, item };
		}
		return undefined;
	}

	/** Keeps an item that was taken for its owner's next turn, before what the owner added later. */
	putBack(owner: string, item: T): void {
		this.#laneOf(owner).unshift(item);
		this.#size++;
	}

	/** Removes an item before its turn. Returns false if it doesn't wait any more. */
	withdraw(owner: string, item: T): boolean {
		const lane = this.#lanes.get(owner) ?? [];
		const at = lane.lastIndexOf(item);
		if (at < 0) return false;
		lane.splice(at, 1);
		this.#size--;
		if (lane.length === 0) this.#lanes.delete(owner);
		return true;
	}

	/** The newest item of the owner with the most items. */
	newestOfLongest(): { owner: string; item: T } | undefined {
		let longest: [string, T[]] | undefined;
		for (const each of this.#lanes)
			if (!longest || each[1].length > longest[1].length) longest = each;
		return longest && { owner: longest[0], item: longest[1].at(-1)! };
	}

	#laneOf(owner: string): T[] {
		const lane = this.#lanes.get(owner) ?? [];
		this.#lanes.set(owner, lane);
		return lane;
	}
}

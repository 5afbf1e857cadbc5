/** What waits, oldest first of each account; accounts take turns. */
export class FairQueue<T> {
	readonly #lanes = new Map<string, T[]>();

	get isEmpty(): boolean {
		return this.#lanes.size === 0;
	}

	add(account: string, item: T): void {
		const lane = this.#lanes.get(account);
		if (lane) lane.push(item);
		else this.#lanes.set(account, [item]);
	}

	/** Hands over the next account's oldest item, and keeps it for the account's next turn if `use` returns true. */
	next(use: (item: T) => boolean): void {
		for (const [account, lane] of this.#lanes) {
			// It is the last in turn from now on.
			this.#lanes.delete(account);
			if (!use(lane[0]!)) lane.shift();
			if (lane.length > 0) this.#lanes.set(account, lane);
			return;
		}
	}
}

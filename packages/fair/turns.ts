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

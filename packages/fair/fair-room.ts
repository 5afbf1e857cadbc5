/**
 * Shares room between owners, for what this process alone holds. An owner may have as much as is free then (the dynamic threshold
 * of Choudhury and Hahne, as in FairQuota): one alone gets half of the room, and however many have their share, the next one still
 * gets one.
 */
export class FairRoom {
	readonly #room: number;
	readonly #taken = new Map<string, number>();
	#total = 0;

	/** @param room in any unit. */
	constructor(room: number) {
		this.#room = room;
	}

	takenBy(owner: string): number {
		return this.#taken.get(owner) ?? 0;
	}

	/** Returns false, and takes nothing, if that is more than the owner may have. */
	take(owner: string, size: number): boolean {
		const own = this.takenBy(owner) + size;
		const total = this.#total + size;
		if (own > this.#room - total) return false;
		this.takeAnyway(owner, size);
		return true;
	}

	/** Of what is there already, so that others' shares are right. */
	takeAnyway(owner: string, size: number): void {
		this.#total += size;
		this.#taken.set(owner, this.takenBy(owner) + size);
	}

	giveBack(owner: string, size: number): void {
		this.#total -= size;
		const left = this.takenBy(owner) - size;
		if (left > 0) this.#taken.set(owner, left);
		else this.#taken.delete(owner);
	}
}

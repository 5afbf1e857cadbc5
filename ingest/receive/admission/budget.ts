/**
 * Bounds what receive holds in memory: requests without an answer, and bytes of bodies that aren't stored yet. A source
 * may hold as much as is still free, so that one source alone never has more than half and another always finds room.
 */
export class Budget {
	requests = 0;
	bytes = 0;
	readonly maxRequests: number;
	readonly maxBytes: number;
	readonly #shares = new Map<string, Share>();

	constructor(maxRequests: number, maxBytes: number) {
		this.maxRequests = maxRequests;
		this.maxBytes = maxBytes;
	}

	/** Counts a request of a source; undefined when there is no room for it. */
	enter(source: string): Share | undefined {
		const share = this.#shares.get(source) ?? this.#newShare(source);
		return share.enter() ? share : undefined;
	}

	#newShare(source: string): Share {
		const share = new Share(this, () => this.#shares.delete(source));
		this.#shares.set(source, share);
		return share;
	}
}

/** What one source holds of a budget. The budget forgets an empty share. */
export class Share {
	#requests = 0;
	#bytes = 0;
	readonly #budget: Budget;
	readonly #onEmpty: () => void;

	constructor(budget: Budget, onEmpty: () => void) {
		this.#budget = budget;
		this.#onEmpty = onEmpty;
	}

	enter(): boolean {
		const free = this.#budget.maxRequests - this.#budget.requests;
		if (this.#requests >= free) return this.#refuse();
		this.#requests++;
		this.#budget.requests++;
		return true;
	}

	leave(): void {
		this.#requests--;
		this.#budget.requests--;
		this.#forgetIfEmpty();
	}

	/** Counts bytes; false when there is no room for them. */
	take(bytes: number): boolean {
		const free = this.#budget.maxBytes - this.#budget.bytes - bytes;
		if (this.#bytes + bytes > free) return this.#refuse();
		this.#bytes += bytes;
		this.#budget.bytes += bytes;
		return true;
	}

	give(bytes: number): void {
		this.#bytes -= bytes;
		this.#budget.bytes -= bytes;
		this.#forgetIfEmpty();
	}

	#refuse(): false {
		this.#forgetIfEmpty();
		return false;
	}

	#forgetIfEmpty(): void {
		if (this.#requests === 0 && this.#bytes === 0) this.#onEmpty();
	}
}

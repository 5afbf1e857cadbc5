/**
 * Bounds what receive holds in memory: requests without an answer, and bytes of bodies that aren't stored yet. An account
 * may hold as much as is still free, and a Source as much as its account may still take (the dynamic threshold of
 * Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So one account never has more than half, however
 * many Sources it has, one Source never more than a third, and another always finds room.
 */
export class MemoryBudget {
	requests = 0;
	bytes = 0;
	readonly maxRequests: number;
	readonly maxBytes: number;
	readonly #accounts = new Map<string, BudgetShare>();

	constructor(maxRequests: number, maxBytes: number) {
		this.maxRequests = maxRequests;
		this.maxBytes = maxBytes;
	}

	/** Counts a request of an account's Source; undefined when there is no room for it. */
	enter(account: string, source: string): BudgetShare | undefined {
		let ofAccount = this.#accounts.get(account);
		if (!ofAccount) {
			ofAccount = new BudgetShare(this, account);
			this.#accounts.set(account, ofAccount);
		}
		const share = ofAccount.part(source);
		return share.enter() ? share : undefined;
	}

	get freeRequests(): number {
		return this.maxRequests - this.requests;
	}

	get freeBytes(): number {
		return this.maxBytes - this.bytes;
	}

	add(requests: number, bytes: number): void {
		this.requests += requests;
		this.bytes += bytes;
	}

	forget(account: string): void {
		this.#accounts.delete(account);
	}
}

/** What an account holds of the budget, or a Source of its account's share. An empty share is forgotten. */
export class BudgetShare {
	#requests = 0;
	#bytes = 0;
	readonly #whole: MemoryBudget | BudgetShare;
	readonly #name: string;
	#parts: Map<string, BudgetShare> | undefined;

	constructor(whole: MemoryBudget | BudgetShare, name: string) {
		this.#whole = whole;
		this.#name = name;
	}

	/** The share of a part of this one. */
	part(name: string): BudgetShare {
		this.#parts ??= new Map();
		let part = this.#parts.get(name);
		if (!part) {
			part = new BudgetShare(this, name);
			this.#parts.set(name, part);
		}
		return part;
	}

	/** Counts a request; false when there is no room for it. */
	enter(): boolean {
		this.add(1, 0);
		if (this.freeRequests >= 0) return true;
		this.add(-1, 0);
		return false;
	}

	leave(): void {
		this.add(-1, 0);
	}

	/** Counts bytes; false when there is no room for them. */
	take(bytes: number): boolean {
		this.add(0, bytes);
		if (this.freeBytes >= 0) return true;
		this.add(0, -bytes);
		return false;
	}

	give(bytes: number): void {
		this.add(0, -bytes);
	}

	/** How many more it may hold; less than 0 when it holds too many. */
	get freeRequests(): number {
		return this.#whole.freeRequests - this.#requests;
	}

	get freeBytes(): number {
		return this.#whole.freeBytes - this.#bytes;
	}

	add(requests: number, bytes: number): void {
		this.#requests += requests;
		this.#bytes += bytes;
		this.#whole.add(requests, bytes);
		if (this.#requests === 0 && this.#bytes === 0)
			this.#whole.forget(this.#name);
	}

	forget(name: string): void {
		this.#parts!.delete(name);
	}
}

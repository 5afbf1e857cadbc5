interface FairQuotaOptions {
	/** Counts the entries of all accounts, and returns how many are allowed. */
	countAll(): Promise<{ entries: number; maxEntries: number }>;
	countOf(account: string): Promise<number>;
	/** Milliseconds of a clock that never jumps. */
	now(): number;
}

const countEveryMs = 1_000;
/** Counting takes longer the more there is, and may take this share of the time. */
const countShare = 0.01;

interface Count {
	/** At the last look, and added by this process since. */
	entries: number;
	/** Being added by this process. */
	pending: number;
	/** Added by this process, less what it removed, while a look is on its way. */
	addedMeanwhile: number;
	/** The look on its way. */
	look: Promise<void> | undefined;
	nextLookMs: number;
}

/**
 * Shares a bounded store between accounts. An account may add an entry while it has fewer than are free (the dynamic
 * threshold of Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). One account alone gets half of the
 * store, and however many accounts have taken their share, the next one still gets a share.
 * Counts are up to a second old, so several processes together may pass the threshold by what they add in that time.
 */
export class FairQuota {
	readonly #options: FairQuotaOptions;
	readonly #all = newCount();
	readonly #accounts = new Map<string, Count>();
	#maxEntries = Infinity;

	constructor(options: FairQuotaOptions) {
		this.#options = options;
	}

	/** The entries of all accounts. */
	get entries(): number {
		return this.#all.entries;
	}

	/**
	 * Adds an entry if the account may. `create` returns what it has made, or undefined if the entry existed already. It holds
	 * a place from the start, so that no number of parallel calls passes the threshold.
	 */
	async add<T>(
		account: string,
		create: () => Promise<T | undefined>,
	): Promise<T | undefined | "full"> {
		if (!this.#isCounted(account)) await this.look(account);
		if (!this.#admits(account)) return "full";
		const counts = [this.#all, this.#countOf(account)];
		for (const count of counts) count.pending++;
		try {
			const made = await create();
			if (made !== undefined) this.#change(account, 1);
			return made;
		} finally {
			for (const count of counts) count.pending--;
			this.#forgetIfEmpty(account);
		}
	}

	/** Call it for each entry that this process removes. */
	removed(account: string): void {
		this.#change(account, -1);
	}

	#change(account: string, by: number): void {
		for (const count of [this.#all, this.#countOf(account)]) {
			// A look may have counted the removal already.
			count.entries = Math.max(0, count.entries + by);
			count.addedMeanwhile += by;
		}
	}

	#admits(account: string): boolean {
		const { entries = 0, pending = 0 } = this.#accounts.get(account) ?? {};
		const free = this.#maxEntries - this.#all.entries - this.#all.pending;
		return entries + pending < free;
	}

	#isCounted(account: string): boolean {
		const counts = [this.#all, this.#accounts.get(account)];
		return counts.every((count) => count && count.nextLookMs > -Infinity);
	}

	/** Counts again, once a second at most. Settles when the counts are in; never rejects. */
	async look(account: string): Promise<void> {
		const { countAll, countOf } = this.#options;
		await Promise.all([
			this.#look(this.#all, async () => {
				const { entries, maxEntries } = await countAll();
				this.#maxEntries = maxEntries;
				return entries;
			}),
			this.#look(this.#countOf(account), () => countOf(account)),
		]);
		this.#forgetIfEmpty(account);
	}

	#forgetIfEmpty(account: string): void {
		const count = this.#accounts.get(account);
		if (count && count.entries + count.pending === 0 && !count.look)
			this.#accounts.delete(account);
	}

	async #look(count: Count, read: () => Promise<number>): Promise<void> {
		if (!count.look && this.#options.now() < count.nextLookMs) return;
		count.look ??= this.#count(count, read).finally(() => {
			count.look = undefined;
		});
		await count.look;
	}

	async #count(count: Count, read: () => Promise<number>): Promise<void> {
		const { now } = this.#options;
		const startMs = now();
		count.addedMeanwhile = 0;
		try {
			const counted = await read();
			// What changes meanwhile may be counted twice. The next look corrects it.
			count.entries = Math.max(0, counted + count.addedMeanwhile);
		} catch {
			// Keep the last count; the next look will tell.
		} finally {
			count.nextLookMs =
				startMs + Math.max(countEveryMs, (now() - startMs) / countShare);
		}
	}

	#countOf(account: string): Count {
		let count = this.#accounts.get(account);
		if (!count) {
			count = newCount();
			this.#accounts.set(account, count);
		}
		return count;
	}
}

function newCount(): Count {
	return {
		entries: 0,
		pending: 0,
		addedMeanwhile: 0,
		look: undefined,
		nextLookMs: -Infinity,
	};
}

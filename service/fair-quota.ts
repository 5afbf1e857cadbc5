export interface FairQuotaOptions {
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
	/** Added by this process, less what it removed, while a look is on its way. */
	addedMeanwhile: number;
	isLooking: boolean;
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

	/** Whether the account may add an entry. Until the first {@link look} everything is admitted. */
	admits(account: string): boolean {
		const held = this.#accounts.get(account)?.entries ?? 0;
		return held < this.#maxEntries - this.#all.entries;
	}

	/** Call it for each entry that this process adds. */
	added(account: string): void {
		this.#change(account, 1);
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
		if (this.#accounts.get(account)?.entries === 0)
			this.#accounts.delete(account);
	}

	async #look(count: Count, read: () => Promise<number>): Promise<void> {
		const { now } = this.#options;
		const startMs = now();
		if (count.isLooking || startMs < count.nextLookMs) return;
		count.isLooking = true;
		count.addedMeanwhile = 0;
		try {
			const counted = await read();
			// What changes meanwhile may be counted twice. The next look corrects it.
			count.entries = Math.max(0, counted + count.addedMeanwhile);
		} catch {
			// Keep the last count; the next look will tell.
		} finally {
			count.isLooking = false;
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
		addedMeanwhile: 0,
		isLooking: false,
		nextLookMs: -Infinity,
	};
}

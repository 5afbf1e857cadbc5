import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import type { MemoryBudget } from "./budget.ts";
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { LongWorkQueue } from "./long-work.ts";
import { MinimumRate } from "./minimum-rate.ts";

/**
 * Of one Source, while others send: about 1 ms of work. A limit of 64 makes the others wait half as long again, and lets a
 * quarter more of the flood through.
 */
const maxConcurrentOfSource = 32;
/** Of one account, while others send: it may have many Sources. */
const maxConcurrentOfAccount = 128;

/** Twice the threads of Node's pool. A decompression may hold a window of 16 MiB (Brotli, RFC 7932 §9.1) beside what it returns. */
const maxInThreads = 8;

/** What all requests share of receive, so that nobody's requests cost another account its service. */
export class RequestLimits {
	readonly budget: MemoryBudget;
	readonly ofSource = new ConcurrencyLimit(maxConcurrentOfSource);
	readonly ofAccount = new ConcurrencyLimit(maxConcurrentOfAccount);
	readonly bodyRate = new MinimumRate();
	readonly longWork = new LongWorkQueue();
	/** For decompression and for public-key signatures. */
	readonly threads = new FairLimit({ atOnce: maxInThreads });

	constructor(budget: MemoryBudget) {
		this.budget = budget;
	}

	/** Call it a few times a second, after the input that is waiting has been read, with a clock that never jumps. */
	tick(nowMs: number): void {
		this.ofSource.tick(nowMs);
		this.ofAccount.tick(nowMs);
		this.bodyRate.tick(nowMs);
	}
}

/** A request that waits for its turn. */
export interface WaitingRequest {
	/** On the clock of {@link ConcurrencyLimit.tick}. */
	waitingSinceMs: number;
	/** It is its turn. */
	begin(): void;
	/** It has waited too long. It must withdraw by itself then. */
	giveUp(): void;
}

/** A waiting sender gets its answer within 1 s. */
const maxWaitMs = 800;

/** A sender counts as sending for one to two of these after its last request. */
const recentMs = 1_000;

interface Lane {
	running: number;
	/**
	 * In order of arrival. Not a Set: when a Set's table is full of deleted entries it takes a new table, and the old table
	 * points to the new one. Once one table is old, all later tables and their waiters live until the next major collection.
	 */
	waiting: WaitingRequest[];
}

/**
 * Keeps a flood from one sender (a Source, or an account) from delaying all others. Beyond a number of concurrent requests
 * receive doesn't read the sender's next ones until earlier ones are answered. A sender that sends alone has no limit.
 */
export class ConcurrencyLimit {
	readonly #maxConcurrent: number;
	readonly #lanes = new Map<string, Lane>();
	#recent = new Set<string>();
	/** The senders of the period before. */
	#earlier = new Set<string>();
	#recentSinceMs = 0;

	constructor(maxConcurrent: number) {
		this.#maxConcurrent = maxConcurrent;
	}

	/** Calls the waiter's `begin` when it is its turn, mostly at once. */
	enter(sender: string, waiter: WaitingRequest): void {
		this.#recent.add(sender);
		let lane = this.#lanes.get(sender);
		if (!lane) {
			lane = { running: 0, waiting: [] };
			this.#lanes.set(sender, lane);
		}
		if (this.#isFull(lane)) {
			lane.waiting.push(waiter);
			return;
		}
		lane.running++;
		waiter.begin();
	}

	/** A request that had its turn is done. */
	leave(sender: string): void {
		const lane = this.#lanes.get(sender);
		if (!lane) return;
		lane.running--;
		while (lane.waiting.length > 0 && !this.#isFull(lane)) {
			lane.running++;
			lane.waiting.shift()!.begin();
		}
		if (lane.running === 0) this.#lanes.delete(sender);
	}

	/** A request that waits for its turn goes away. */
	withdraw(sender: string, waiter: WaitingRequest): void {
		const waiting = this.#lanes.get(sender)?.waiting ?? [];
		const at = waiting.indexOf(waiter);
		if (at >= 0) waiting.splice(at, 1);
	}

	/** Call it a few times a second, with a clock that never jumps. */
	tick(nowMs: number): void {
		if (nowMs - this.#recentSinceMs >= recentMs) {
			this.#earlier = this.#recent;
			this.#recent = new Set();
			this.#recentSinceMs = nowMs;
		}
		const isLate = ({ waitingSinceMs }: WaitingRequest) =>
			nowMs - waitingSinceMs >= maxWaitMs;
		for (const { waiting } of this.#lanes.values())
			for (const waiter of waiting.filter(isLate)) waiter.giveUp();
	}

	#isFull(lane: Lane): boolean {
		return lane.running >= this.#maxConcurrent && this.#hasSeveralSenders();
	}

	#hasSeveralSenders(): boolean {
		if (this.#recent.size > 1 || this.#earlier.size > 1) return true;
		const [recent] = this.#recent;
		const [earlier] = this.#earlier;
		return recent !== undefined && earlier !== undefined && recent !== earlier;
	}
}

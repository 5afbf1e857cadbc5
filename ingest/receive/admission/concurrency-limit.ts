/** A request that waits for its turn. */
export interface Waiter {
	/** On the clock of {@link ConcurrencyLimit.tick}. */
	waitingSinceMs: number;
	/** It is its turn. */
	begin(): void;
	/** It has waited too long. It must withdraw by itself then. */
	giveUp(): void;
}

/**
 * How many requests of one source run at once while other sources send: about 1 ms of work. A limit of 64 makes the
 * others wait half as long again, and lets a quarter more of the flood through.
 */
const maxConcurrent = 32;
/** A waiting sender gets its answer within 1 s. */
const maxWaitMs = 800;

/** A source counts as sending for one to two of these after its last request. */
const recentMs = 1_000;

interface Lane {
	running: number;
	/**
	 * In order of arrival. Not a Set: when a Set's table is full of deleted entries it takes a new table, and the old table
	 * points to the new one. Once one table is old, all later tables and their waiters live until the next major collection.
	 */
	waiting: Waiter[];
}

/**
 * Keeps a flood from one source from delaying all others. Beyond a number of concurrent requests receive doesn't read
 * the source's next ones until earlier ones are answered. A source that sends alone has no limit.
 */
export class ConcurrencyLimit {
	readonly #lanes = new Map<string, Lane>();
	#recent = new Set<string>();
	/** The sources of the period before. */
	#earlier = new Set<string>();
	#recentSinceMs = 0;

	/** Calls the waiter's `begin` when it is its turn, mostly at once. */
	enter(source: string, waiter: Waiter): void {
		this.#recent.add(source);
		let lane = this.#lanes.get(source);
		if (!lane) {
			lane = { running: 0, waiting: [] };
			this.#lanes.set(source, lane);
		}
		if (this.#isFull(lane)) {
			lane.waiting.push(waiter);
			return;
		}
		lane.running++;
		waiter.begin();
	}

	/** A request that had its turn is done. */
	leave(source: string): void {
		const lane = this.#lanes.get(source);
		if (!lane) return;
		lane.running--;
		while (lane.waiting.length > 0 && !this.#isFull(lane)) {
			lane.running++;
			lane.waiting.shift()!.begin();
		}
		if (lane.running === 0) this.#lanes.delete(source);
	}

	/** A request that waits for its turn goes away. */
	withdraw(source: string, waiter: Waiter): void {
		const waiting = this.#lanes.get(source)?.waiting ?? [];
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
		const isLate = ({ waitingSinceMs }: Waiter) =>
			nowMs - waitingSinceMs >= maxWaitMs;
		for (const { waiting } of this.#lanes.values())
			for (const waiter of waiting.filter(isLate)) waiter.giveUp();
	}

	#isFull(lane: Lane): boolean {
		return lane.running >= maxConcurrent && this.#hasSeveralSources();
	}

	#hasSeveralSources(): boolean {
		if (this.#recent.size > 1 || this.#earlier.size > 1) return true;
		const [recent] = this.#recent;
		const [earlier] = this.#earlier;
		return recent !== undefined && earlier !== undefined && recent !== earlier;
	}
}

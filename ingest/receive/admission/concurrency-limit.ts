/** A request that waits for its turn. */
export interface Waiter {
	/** On the clock of {@link Turnstile.tick}. */
	waitsSinceMs: number;
	/** It is its turn. */
	begin(): void;
	/** It has waited too long. It must withdraw by itself then. */
	giveUp(): void;
}

/**
 * How many requests of one source are worked on at once while others send, too: about 1 ms of work. With 64 the others
 * wait half as long again, and the flood gets a quarter more through.
 */
const maxTogether = 32;
/** The answer to one that waits is due within 1 s (design §4). */
const maxWaitMs = 800;

/** How long a source counts as sending after its last request: one to two of these. */
const memoryMs = 1_000;

interface Lane {
	working: number;
	/**
	 * In the order in which they came. Not a Set: when its table is full of what was deleted it takes a new one, to which the
	 * old one points. Once one of them has grown old, all later ones, with who waited in them, live until the next major collection.
	 */
	waiting: Waiter[];
}

/**
 * Keeps a source that floods from making all others wait: beyond so many requests at once its next ones are read no
 * further until earlier ones are answered. A source that is alone isn't held back.
 */
export class Turnstile {
	readonly #lanes = new Map<string, Lane>();
	#recent = new Set<string>();
	/** Those that were recent before. */
	#earlier = new Set<string>();
	#recentSinceMs = 0;

	/** Calls the waiter's `begin` when it is its turn, mostly at once. */
	enter(source: string, waiter: Waiter): void {
		this.#recent.add(source);
		let lane = this.#lanes.get(source);
		if (!lane) {
			lane = { working: 0, waiting: [] };
			this.#lanes.set(source, lane);
		}
		if (this.#isFull(lane)) {
			lane.waiting.push(waiter);
			return;
		}
		lane.working++;
		waiter.begin();
	}

	/** One that had its turn is done. */
	leave(source: string): void {
		const lane = this.#lanes.get(source);
		if (!lane) return;
		lane.working--;
		while (lane.waiting.length > 0 && !this.#isFull(lane)) {
			lane.working++;
			lane.waiting.shift()!.begin();
		}
		if (lane.working === 0) this.#lanes.delete(source);
	}

	/** One that waits for its turn goes away. */
	withdraw(source: string, waiter: Waiter): void {
		const waiting = this.#lanes.get(source)?.waiting ?? [];
		const at = waiting.indexOf(waiter);
		if (at >= 0) waiting.splice(at, 1);
	}

	/** To be called a few times a second, by a clock that never jumps. */
	tick(nowMs: number): void {
		if (nowMs - this.#recentSinceMs >= memoryMs) {
			this.#earlier = this.#recent;
			this.#recent = new Set();
			this.#recentSinceMs = nowMs;
		}
		const isLate = ({ waitsSinceMs }: Waiter) =>
			nowMs - waitsSinceMs >= maxWaitMs;
		for (const { waiting } of this.#lanes.values())
			for (const waiter of waiting.filter(isLate)) waiter.giveUp();
	}

	#isFull(lane: Lane): boolean {
		return lane.working >= maxTogether && this.#hasSeveralSources();
	}

	#hasSeveralSources(): boolean {
		if (this.#recent.size > 1 || this.#earlier.size > 1) return true;
		const [recent] = this.#recent;
		const [earlier] = this.#earlier;
		return recent !== undefined && earlier !== undefined && recent !== earlier;
	}
}

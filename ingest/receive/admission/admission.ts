import type { Share } from "./budget.ts";
import type { ConcurrencyLimit, Waiter } from "./concurrency-limit.ts";

/** The request that an {@link Admission} belongs to. */
interface Admitted {
	/** It is its turn. */
	begin(): void;
	/** It has waited too long for its turn. It must leave by itself then. */
	giveUp(): void;
}

/** What one request holds of receive: a place in its source's share and a turn until it is answered, and the bytes of its body. */
export class Admission implements Waiter {
	/** Since when the sender has been waiting for receive. */
	waitingSinceMs = performance.now();
	/** Bytes that it holds of the share. */
	bytes = 0;
	readonly #source: string;
	readonly #share: Share;
	readonly #limit: ConcurrencyLimit;
	readonly #admitted: Admitted;
	#hasTurn = false;
	#waitedMs = 0;

	/** @param share already counts the request. */
	constructor(
		source: string,
		share: Share,
		limit: ConcurrencyLimit,
		admitted: Admitted,
	) {
		this.#source = source;
		this.#share = share;
		this.#limit = limit;
		this.#admitted = admitted;
	}

	/** Calls `begin` of the request when it is its turn, mostly at once. */
	awaitTurn(): void {
		this.#limit.enter(this.#source, this);
	}

	begin(): void {
		this.#hasTurn = true;
		this.#waitedMs = performance.now() - this.waitingSinceMs;
		this.#admitted.begin();
	}

	giveUp(): void {
		this.#admitted.giveUp();
	}

	/** The body is whole. The time that the sender took to send it doesn't count as waiting; the wait for a turn does. */
	discountReading(): void {
		this.waitingSinceMs = performance.now() - this.#waitedMs;
	}

	/** Holds more bytes; false when the share has no room for them. */
	take(bytes: number): boolean {
		if (!this.#share.take(bytes)) return false;
		this.bytes += bytes;
		return true;
	}

	/** Holds this many bytes from now on, even if they are more than the share has room for. */
	keep(bytes: number): void {
		this.#share.give(this.bytes - bytes);
		this.bytes = bytes;
	}

	/** The request is answered and makes room for the next one. Its bytes may be needed for longer. */
	leave(): void {
		this.#share.leave();
		if (this.#hasTurn) this.#limit.leave(this.#source);
		else this.#limit.withdraw(this.#source, this);
	}
}

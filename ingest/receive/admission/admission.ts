import type { Route } from "../../../packages/contracts/route.ts";
import type { BudgetShare } from "./budget.ts";
import type { WaitingRequest } from "./concurrency-limit.ts";
import type { RequestLimits } from "./limits.ts";
import type { ReadBody } from "./minimum-rate.ts";

/** The request that an {@link RequestAdmission} belongs to. */
interface Admitted {
	/** It is its turn: its body may be read. */
	begin(): void;
	/** It has waited too long for its turn. It must leave by itself then. */
	giveUp(): void;
	/** Its body arrives too slowly. It must leave by itself then. */
	tooSlow(): void;
}

/**
 * What one request holds of receive: a place in its Source's share and a turn of its Source and of its account until it is
 * answered, and the bytes of its body.
 */
export class RequestAdmission implements WaitingRequest, ReadBody {
	/** Since when the sender has been waiting for receive. */
	waitingSinceMs = performance.now();
	/** Bytes that it holds of the share. */
	bytes = 0;
	readonly #account: string;
	readonly #source: string;
	readonly #share: BudgetShare;
	readonly #limits: RequestLimits;
	readonly #admitted: Admitted;
	/** It first waits for its Source's turn, then for its account's. */
	#turns: "none" | "source" | "both" = "none";
	#waitedMs = 0;
	#stopWatching: (() => void) | undefined;

	/** Returns undefined when there is no room for the request. */
	static enter(
		{ account, sourceKey }: Pick<Route, "account" | "sourceKey">,
		limits: RequestLimits,
		admitted: Admitted,
	): RequestAdmission | undefined {
		const share = limits.budget.enter(account, sourceKey);
		return (
			share && new RequestAdmission(account, sourceKey, share, limits, admitted)
		);
	}

	private constructor(
		account: string,
		source: string,
		share: BudgetShare,
		limits: RequestLimits,
		admitted: Admitted,
	) {
		this.#account = account;
		this.#source = source;
		this.#share = share;
		this.#limits = limits;
		this.#admitted = admitted;
	}

	/** Calls `begin` of the request when it is its turn, mostly at once. */
	awaitTurn(): void {
		this.#limits.ofSource.enter(this.#source, this);
	}

	begin(): void {
		const { ofAccount, bodyRate } = this.#limits;
		if (this.#turns === "none") {
			this.#turns = "source";
			ofAccount.enter(this.#account, this);
			return;
		}
		this.#turns = "both";
		this.#waitedMs = performance.now() - this.waitingSinceMs;
		this.#stopWatching = bodyRate.watch(this);
		this.#admitted.begin();
	}

	giveUp(): void {
		this.#admitted.giveUp();
	}

	tooSlow(): void {
		this.#admitted.tooSlow();
	}

	/** The body is whole. The time that the sender took to send it doesn't count as waiting; the wait for a turn does. */
	endReading(): void {
		this.#stopWatching?.();
		this.#stopWatching = undefined;
		this.waitingSinceMs = performance.now() - this.#waitedMs;
	}

	/** Holds more bytes; false when the share has no room for them. */
	take(bytes: number): boolean {
		if (!this.#share.take(bytes)) return false;
		this.bytes += bytes;
		return true;
	}

	/** Holds only this many of its bytes from now on. */
	keep(bytes: number): void {
		this.#share.give(this.bytes - bytes);
		this.bytes = bytes;
	}

	/** The request is answered and makes room for the next one. Its bytes may be needed for longer. */
	leave(): void {
		this.#stopWatching?.();
		this.#stopWatching = undefined;
		this.#share.leave();
		const { ofSource, ofAccount } = this.#limits;
		if (this.#turns === "none") {
			ofSource.withdraw(this.#source, this);
			return;
		}
		if (this.#turns === "both") ofAccount.leave(this.#account);
		else ofAccount.withdraw(this.#account, this);
		ofSource.leave(this.#source);
	}
}

import type { ApiserverAnswer } from "./transport.ts";

/** The apiserver's clock, as the heads of its answers tell it. Until the first answer it is this process's. */
export class ServerClock {
	#aheadMs: number | undefined;

	/** How far this process's clock is ahead of the apiserver's, in milliseconds; undefined before the first answer. */
	get aheadMs(): number | undefined {
		return this.#aheadMs;
	}

	/** In milliseconds since 1970. */
	now(): number {
		return Date.now() - (this.#aheadMs ?? 0);
	}

	/** For a client's option `onAnswer`. */
	readonly hear = ({ date = "", tookMs }: ApiserverAnswer): void => {
		const serverMs = Date.parse(date);
		if (Number.isNaN(serverMs)) return;
		// The header has whole seconds (RFC 9110 §5.6.7), and was written at some moment of the request: the middle is the best guess.
		this.#aheadMs = Date.now() - tookMs / 2 - (serverMs + 500);
	};
}

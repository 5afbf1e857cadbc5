import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

type Refuse = (error: NodeJS.ErrnoException, socket: Duplex) => void;

/** So many in a turn, once in so many milliseconds: a thousand a second. */
const perTurn = 10;
const turnMs = 10;

/**
 * Refuses connections whose deadline has passed one after another, because those that came together are late together: ten thousand of
 * them would hold up everybody else for a second, and again when they come back. A single one is refused at once.
 */
export class PacedTimeouts {
	readonly #refuse: Refuse;
	/** Since they became late. The request is there if its head has arrived in the meantime. */
	readonly #late = new Map<
		Duplex,
		{ error: NodeJS.ErrnoException; request?: IncomingMessage }
	>();
	#timer: NodeJS.Timeout | undefined;

	/** @param refuse answers a connection and ends it. */
	constructor(refuse: Refuse) {
		this.#refuse = refuse;
	}

	add(error: NodeJS.ErrnoException, socket: Duplex): void {
		this.#late.set(socket, { error });
		if (this.#timer) return;
		this.#timer = setInterval(() => this.#takeTurn(), turnMs).unref();
		this.#takeTurn();
	}

	/** The head of a request has arrived. Returns whether its connection is late, so that it must end with the answer. */
	beginRequest(request: IncomingMessage): boolean {
		const late = this.#late.get(request.socket);
		if (late) late.request = request;
		return late !== undefined;
	}

	remove(socket: Duplex): void {
		this.#late.delete(socket);
	}

	#takeTurn(): void {
		let refused = 0;
		for (const [socket, { error, request }] of this.#late) {
			if (refused === perTurn) return;
			this.#late.delete(socket);
			// What has arrived as a whole gets its answer.
			if (request?.complete) continue;
			this.#refuse(error, socket);
			refused++;
		}
		if (refused > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}
}

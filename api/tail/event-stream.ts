import { PassThrough } from "node:stream";

/** What a reader may leave unread. */
const maxUnreadBytes = 1024 * 1024;

/** An answer of server-sent events (WHATWG HTML, "Server-sent events"). A reader that falls behind is cut off. */
export class EventStream {
	/** The body of the answer. */
	readonly body = new PassThrough();
	readonly #over = new AbortController();
	#hasEnded = false;

	constructor() {
		this.body.once("close", () => this.#over.abort());
	}

	/** Fires when it has ended, or the client has disconnected. */
	get signal(): AbortSignal {
		return this.#over.signal;
	}

	/** @param id what a client sends as `Last-Event-ID` when it connects again; without one, its last one stays. */
	send(event: string, data: object, id?: string): void {
		this.#write(
			`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
		);
	}

	/** Proxies close silent connections, and a client learns that the connection lives. */
	heartbeat(): void {
		this.#write(": still here\n\n");
	}

	/** How long a client waits before it connects again. */
	retryAfter(timeMs: number): void {
		this.#write(`retry: ${timeMs}\n\n`);
	}

	/** Says why it ends, and ends. */
	end(reason: string, message: string): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		this.body.end(
			`event: end\ndata: ${JSON.stringify({ reason, message })}\n\n`,
		);
		this.#over.abort();
	}

	#write(text: string): void {
		if (this.#hasEnded || this.signal.aborted) return;
		this.body.write(text);
		const unread = this.body.readableLength + this.body.writableLength;
		if (unread > maxUnreadBytes)
			this.end(
				"SlowReader",
				"The client reads more slowly than events come. Connect again with Last-Event-ID.",
			);
	}
}

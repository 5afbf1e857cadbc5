/** How long a cut's object holds up the next cut that is made for requests alone. */
const msOfObject = 100;
const mostGatheredMs = 10_000;

/**
 * Requests that wait until everything through a sequence is archived. A cut for them has an object for each source of the
 * shard, whoever asked. So a request that comes alone gets a cut at once, and those soon after it share the next one.
 */
export class FlushRequests {
	readonly #onRequest: () => void;
	readonly #waiting = new Set<Request>();
	#stream: string | undefined;
	#done = 0;
	#notBeforeMs = 0;
	#stopped: Error | undefined;

	constructor(onRequest: () => void) {
		this.#onRequest = onRequest;
	}

	/** Through which sequence this stream is archived; undefined while the shard isn't at work on it. */
	doneOf(stream: string): number | undefined {
		return stream === this.#stream ? this.#done : undefined;
	}

	/** The highest requested sequence of the current stream, or 0. */
	get through(): number {
		let through = 0;
		for (const { stream, sequence } of this.#waiting)
			if (stream === this.#stream) through = Math.max(through, sequence);
		return through;
	}

	/** When requests may have a cut again, by performance.now(). */
	get notBeforeMs(): number {
		return this.#notBeforeMs;
	}

	/** Notes that a cut with so many objects was decided, for these requests or not. */
	decided(last: number, objects: number, nowMs: number): void {
		const { through } = this;
		if (through === 0 || last < through) return;
		const gatheredMs = Math.min(mostGatheredMs, objects * msOfObject);
		this.#notBeforeMs = nowMs + gatheredMs;
	}

	/** Settles when the stream's frames through `sequence` are archived. Rejects with the signal's reason, or the alarm. */
	async wait(
		stream: string,
		sequence: number,
		signal: AbortSignal,
	): Promise<void> {
		if (this.#stopped) throw this.#stopped;
		if (stream === this.#stream && sequence <= this.#done) return;
		signal.throwIfAborted();
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const request: Request = { stream, sequence, resolve, reject };
		const abort = () => reject(signal.reason);
		signal.addEventListener("abort", abort, { once: true });
		this.#waiting.add(request);
		this.#onRequest();
		try {
			await promise;
		} finally {
			signal.removeEventListener("abort", abort);
			this.#waiting.delete(request);
		}
	}

	done(stream: string, sequence: number): void {
		this.#stream = stream;
		this.#done = sequence;
		for (const request of this.#waiting)
			if (request.stream === stream && request.sequence <= sequence)
				request.resolve();
	}

	/** Rejects all requests, present and future, with this error. */
	stop(error: Error): void {
		this.#stopped = error;
		for (const request of this.#waiting) request.reject(error);
	}
}

interface Request {
	stream: string;
	sequence: number;
	resolve(): void;
	reject(error: unknown): void;
}

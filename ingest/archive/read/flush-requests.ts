/** Requests that wait until everything through a sequence is archived. */
export class FlushRequests {
	readonly #onRequest: () => void;
	readonly #waiting = new Set<Request>();
	#stream: string | undefined;
	#done = 0;
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

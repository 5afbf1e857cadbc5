import type { CutSource } from "../decide/cut.ts";
import type { UncutFrames } from "./frame-queue.ts";
import { CutConflict } from "./standby.ts";

/**
 * What a source has in no cut yet, as files of the kind that the cut's objects will be, for a Run. The ledger of that moment
 * has all that comes before: the cuts before `first`.
 */
export interface EarlyEvents {
	stream: string;
	/** The first sequence of the next cut. */
	first: number;
	/** No event of the source through this sequence is missing. */
	last: number;
	/** By date. Without what is in quarantine. */
	files: { date: string; rows: number; body: Uint8Array }[];
}

export interface EarlyRequest {
	stream: string;
	/** What is wanted: all of the source's events through this one. */
	sequence: number;
	/** Of the frames that the stream holds: the first one's sequence, and the bytes of all. */
	first: number;
	bytes: number;
	source: CutSource;
	signal: AbortSignal;
}

/** A cut with so few objects costs little more than the Run's own would. */
const fewSources = 4;
/** A stream that holds more has a backlog, in whose cuts the events soon are. */
const mostTimes = 2;

/**
 * Requests of Runs for their source's events that are in no cut yet. A cut for them would have an object for each source of
 * the shard. The session answers between two cuts: then the ledger and these events are of the same moment.
 */
export class EarlyRequests {
	readonly #onRequest: () => void;
	readonly #waiting = new Set<Waiting>();
	#isStopped = false;

	constructor(onRequest: () => void) {
		this.#onRequest = onRequest;
	}

	/** Undefined if the events should be cut instead. Rejects with the signal's reason, or why it failed. */
	async ask(request: EarlyRequest): Promise<EarlyEvents | undefined> {
		const { signal } = request;
		signal.throwIfAborted();
		if (this.#isStopped) return undefined;
		const { promise, resolve, reject } = Promise.withResolvers<
			EarlyEvents | undefined
		>();
		const waiting: Waiting = { request, resolve, reject };
		const abort = () => reject(signal.reason);
		signal.addEventListener("abort", abort, { once: true });
		this.#waiting.add(waiting);
		this.#onRequest();
		try {
			return await promise;
		} finally {
			signal.removeEventListener("abort", abort);
			this.#waiting.delete(waiting);
		}
	}

	/** Whoever asks is to ask for a cut from now on, which says why there is none. */
	stop(): void {
		this.#isStopped = true;
		for (const { resolve } of this.#waiting) resolve(undefined);
	}

	get isWaiting(): boolean {
		return this.#waiting.size > 0;
	}

	/** Whether there is a request that {@link answer} would settle. */
	isDue(reader: EarlyReader): boolean {
		for (const { request } of this.#waiting)
			if (decide(request, reader) !== "wait") return true;
		return false;
	}

	/**
	 * Settles all requests that don't wait for frames. Throws {@link CutConflict} if another archiver has cut some of the reader's
	 * frames: they are answered when those cuts are known.
	 */
	async answer(
		reader: EarlyReader,
		read: (source: CutSource) => Promise<EarlyEvents>,
	): Promise<void> {
		for (const { request, resolve, reject } of [...this.#waiting]) {
			const decided = decide(request, reader);
			if (decided === "learn")
				throw new CutConflict(`another archiver has cut ${reader.next}`);
			if (decided === "cut") resolve(undefined);
			if (decided === "read") await read(request.source).then(resolve, reject);
		}
	}
}

/** Where a session is in its stream. */
export interface EarlyReader {
	stream: string;
	/** The first sequence of the next cut. */
	next: number;
	uncut: UncutFrames;
	/** Of a cut by size. */
	cutBytes: number;
}

interface Waiting {
	request: EarlyRequest;
	resolve(events: EarlyEvents | undefined): void;
	reject(error: unknown): void;
}

function decide(
	{ stream: wanted, sequence, first, bytes }: EarlyRequest,
	{ stream, next, uncut, cutBytes }: EarlyReader,
): "read" | "cut" | "wait" | "learn" {
	const { sources, lastSequence } = uncut;
	if (stream !== wanted || bytes > mostTimes * cutBytes) return "cut";
	if (first > next) return "learn";
	if (lastSequence < sequence) return "wait";
	return sources <= fewSources ? "cut" : "read";
}

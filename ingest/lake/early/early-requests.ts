import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import type { CutSource } from "../../archive/decide/cut.ts";
import { CutConflict } from "../../archive/read/standby.ts";
import type {
	SessionPosition,
	UncutFiles,
	UncutWork,
} from "../../archive/read/uncut-work.ts";
import type { LakeShard, StreamEnd } from "../request/lake-shard.ts";
import type { RequestTask } from "../request/responder.ts";

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
/** A cut that is being written takes a few seconds. */
const timeoutMs = 10_000;

/**
 * Requests of Runs for their source's events that are in no cut yet. A cut for them would have an object for each source of
 * the shard. The session answers between two cuts: then the ledger and these events are of the same moment.
 */
export class EarlyRequests implements UncutWork {
	readonly #onRequest: () => void;
	readonly #waiting = new Set<Waiting>();
	#isStopped = false;

	constructor(shard: Pick<LakeShard, "workBetweenCuts">) {
		this.#onRequest = shard.workBetweenCuts(this);
	}

	/**
	 * Waits until every event of the source before this end of the shard's stream is archived, or returns those that aren't for the
	 * asker to store. Throws as {@link LakeShard.flush} does.
	 */
	async flushOrRead(
		shard: Pick<LakeShard, "flush">,
		source: SourceName,
		task: RequestTask,
		end: StreamEnd,
	): Promise<UncutFiles | undefined> {
		const timeout = AbortSignal.timeout(timeoutMs);
		const { stream, last: sequence, first, bytes } = end;
		const signal = AbortSignal.any([timeout, task.stopping]);
		const request = { stream, sequence, first, bytes, source, signal };
		const found = await this.ask(request).catch((error) => {
			task.stopping.throwIfAborted();
			if (!timeout.aborted) throw error;
			return undefined;
		});
		if (!found) await shard.flush(source.sourceKey, task, end);
		return found;
	}

	/** Undefined if the events should be cut instead. Rejects with the signal's reason, or why it failed. */
	async ask(request: EarlyRequest): Promise<UncutFiles | undefined> {
		const { signal } = request;
		signal.throwIfAborted();
		if (this.#isStopped) return undefined;
		const { promise, resolve, reject } = Promise.withResolvers<
			UncutFiles | undefined
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

	/** Whether there is a request that {@link work} would settle. */
	isDue(position: SessionPosition): boolean {
		for (const { request } of this.#waiting)
			if (decide(request, position) !== "wait") return true;
		return false;
	}

	/**
	 * Settles all requests that don't wait for frames. Throws {@link CutConflict} if another archiver has cut some of the position's
	 * frames: they are answered when those cuts are known.
	 */
	async work(
		position: SessionPosition,
		read: (source: CutSource) => Promise<UncutFiles>,
	): Promise<void> {
		for (const { request, resolve, reject } of [...this.#waiting]) {
			const decided = decide(request, position);
			if (decided === "learn")
				throw new CutConflict(`another archiver has cut ${position.next}`);
			if (decided === "cut") resolve(undefined);
			if (decided === "read") await read(request.source).then(resolve, reject);
		}
	}
}

interface Waiting {
	request: EarlyRequest;
	resolve(events: UncutFiles | undefined): void;
	reject(error: unknown): void;
}

function decide(
	{ stream: wanted, sequence, first, bytes }: EarlyRequest,
	{ stream, next, uncut, cutBytes }: SessionPosition,
): "read" | "cut" | "wait" | "learn" {
	const { sources, lastSequence } = uncut;
	if (stream !== wanted || bytes > mostTimes * cutBytes) return "cut";
	if (first > next) return "learn";
	if (lastSequence < sequence) return "wait";
	return sources <= fewSources ? "cut" : "read";
}

import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import { clockFault } from "../../../packages/contracts/utc-date.ts";
import { pause } from "../../../packages/service/pause.ts";
import { Alarm } from "../../archive/decide/alarm.ts";
import type { LedgerIndex } from "../../archive/ledger/ledger-index.ts";
import type { UncutWork } from "../../archive/read/uncut-work.ts";
import type { Shard } from "../../archive/shard.ts";
import { RequestFailure } from "./errors.ts";
import type { RequestTask } from "./responder.ts";
import { SourceTails } from "./source-tails.ts";

/** What the lake asks of a shard that archive writes. */
export type ArchivedShard = Pick<
	Shard,
	| "number"
	| "index"
	| "flushes"
	| "workBetweenCuts"
	| "notReady"
	| "isArchiving"
	| "forgetDeleted"
>;

export interface StreamEnd {
	stream: string;
	/** The stream's last sequence. */
	last: number;
	/** An instant: every frame acknowledged before it has at most this sequence. RFC 3339. */
	time: string;
	/** How far NATS's clock was from this process's, such as `90 s ahead`; undefined if it was near enough. */
	clockFault: string | undefined;
	/** Of the frames that the stream holds. */
	first: number;
	bytes: number;
	messages: number;
}

/** How long a request may wait for the flush. Operator repeats it. */
const flushTimeoutMs = 40_000;
/** A flush that takes longer has much before it, so it pays to look for the source's last event. */
const usualMs = 1_000;
const learnMs = 5_000;
const pollMs = 50;

/** A shard of this process, for questions about its events. */
export class LakeShard {
	readonly number: number;
	readonly connection: NatsConnection;
	readonly #shard: ArchivedShard;
	readonly #tails: SourceTails;

	constructor(connection: NatsConnection, shard: ArchivedShard) {
		this.number = shard.number;
		this.connection = connection;
		this.#shard = shard;
		this.#tails = new SourceTails(connection);
	}

	/** What is archived, as of the last cut whose objects are all in the store. */
	get index(): LedgerIndex {
		return this.#shard.index;
	}

	/** Whether this process does the work now. */
	get isArchiving(): boolean {
		return this.#shard.isArchiving;
	}

	forgetDeleted(): void {
		this.#shard.forgetDeleted();
	}

	/** As {@link Shard.workBetweenCuts}. */
	workBetweenCuts(work: UncutWork): () => void {
		return this.#shard.workBetweenCuts(work);
	}

	/** Through which sequence a stream is archived by now; undefined if this archive doesn't know. */
	doneOf(stream: string): number | undefined {
		return this.#shard.flushes.doneOf(stream);
	}

	/** Settles when the stream's frames through `sequence` are archived. Rejects with the signal's reason, or the alarm. */
	archived(
		stream: string,
		sequence: number,
		signal: AbortSignal,
	): Promise<void> {
		return this.#shard.flushes.wait(stream, sequence, signal);
	}

	/** Throws {@link RequestFailure} ShardNotReady if there is no stream. */
	async end(): Promise<StreamEnd> {
		const { streams } = await jetstreamManager(this.connection, {
			checkAPI: false,
		});
		// NATS knows the stream even while the shard is still catching up.
		const subject = framesSubject(this.number);
		const [stream] = await streams.names(subject).next();
		if (stream === undefined)
			throw new RequestFailure("ShardNotReady", `No stream takes ${subject}`);
		// The clock is read before the last sequence. In the other order, a frame could be acknowledged in between.
		const { ts } = await streams.info(stream);
		const time = new Date(ts!).toISOString();
		const fault = clockFault(time, Date.now());
		const { state } = await streams.info(stream);
		const { first_seq: first, last_seq: last, bytes, messages } = state;
		return {
			stream,
			last,
			time,
			clockFault: fault,
			first,
			bytes,
			messages,
		};
	}

	/**
	 * Whether this process archives the shard, and its index has all that is archived, whoever did it.
	 * @param objectsDone returns the stream's sequence through which all objects are in the store.
	 */
	async isCurrent(
		objectsDone: (stream: string) => Promise<number>,
		signal: AbortSignal,
	): Promise<boolean> {
		if (!this.#shard.isArchiving) return false;
		const { stream } = await this.end();
		const done = await objectsDone(stream);
		const last = () => this.index.newestOfStream.get(stream)?.last ?? 0;
		// This process says that objects are done, and then learns the cut.
		const untilMs = performance.now() + learnMs;
		while (last() < done && performance.now() < untilMs && !signal.aborted)
			await pause(pollMs, signal);
		return last() >= done && this.#shard.isArchiving;
	}

	/** An instant: every frame acknowledged before it is archived. Undefined while one isn't, or nobody knows. */
	async drainedAt(): Promise<string | undefined> {
		const end = await this.end().catch(() => undefined);
		if (!end || end.clockFault !== undefined) return undefined;
		const done = this.doneOf(end.stream);
		return done !== undefined && done >= end.last ? end.time : undefined;
	}

	/**
	 * Waits until every event of the source before the end of the shard's stream is archived, and not for other sources' events
	 * behind it. Throws {@link RequestFailure} ShardNotReady, ShardStopped or ArchiveBusy, or why archive is stopping.
	 * @param end as of now, if it isn't known.
	 */
	async flush(
		sourceKey: string,
		task: RequestTask,
		end?: StreamEnd,
	): Promise<void> {
		const { stream, last } = end ?? (await this.end());
		const before = this.doneOf(stream);
		let through = last;
		if (before !== undefined)
			task.progress = () =>
				`${(this.doneOf(stream) ?? before) - before} of ${through - before} frames that may hold the Source's events are archived.`;
		const timeout = AbortSignal.timeout(flushTimeoutMs);
		const settled = new AbortController();
		const signal = AbortSignal.any([timeout, task.stopping, settled.signal]);
		const whole = this.archived(stream, last, signal);
		const own = async () => {
			await pause(usualMs, signal);
			signal.throwIfAborted();
			const done = this.doneOf(stream);
			// The shard is still catching up, and its ledger isn't complete.
			if (done === undefined) return whole;
			const waiting = { stream, from: done + 1, to: last };
			const found = await this.#tails.lastOf(sourceKey, waiting, signal);
			if (found === undefined) return whole;
			through = Math.max(found, done);
			return this.archived(stream, through, signal);
		};
		try {
			await Promise.race([whole, own()]);
		} catch (error) {
			if (error instanceof Alarm)
				throw new RequestFailure(
					"ShardStopped",
					`Shard ${this.number} has stopped with an alarm`,
					{ cause: error, ...this.#internals },
				);
			if (!timeout.aborted) throw error;
			throw new RequestFailure(
				"ArchiveBusy",
				`Shard ${this.number} wasn't archived through sequence ${through} within ${flushTimeoutMs / 1000} s`,
				this.#internals,
			);
		} finally {
			settled.abort();
			task.progress = undefined;
		}
	}

	notReady(cause?: unknown): RequestFailure {
		return new RequestFailure(
			"ShardNotReady",
			`Shard ${this.number} isn't ready`,
			{ cause, ...this.#internals },
		);
	}

	/** Why the shard isn't ready, which names the store or the stream. */
	get #internals(): { internals?: string } {
		const { notReady } = this.#shard;
		return notReady ? { internals: notReady } : {};
	}
}

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../../packages/service/log.ts";
import { isNoRoom } from "../../packages/service/nats/connection.ts";
import type { IdempotencyBucket } from "../wire/idempotency-bucket.ts";
import { type CutChain, catchUp } from "./catch-up.ts";
import {
	type CutRecord,
	type CutSource,
	decideCut,
	eventsOfCut,
	groupEvents,
	isLost,
	numbersOf,
	type OtherStreams,
	type StreamFrame,
} from "./decide/cut.ts";
import { verifyStream } from "./decide/resume.ts";
import type { ShardLedger } from "./ledger/shard-ledger.ts";
import { type CutLossStore, reportLosses, settleCut } from "./losses.ts";
import { ChainOutdated, otherStreams } from "./other-streams.ts";
import type { FlushRequests } from "./read/flush-requests.ts";
import {
	cutBytes,
	FrameQueue,
	PositionLost,
	SequenceSkipped,
	type UncutFrames,
} from "./read/frame-queue.ts";
import {
	type CutLimits,
	type FrameWait,
	untilCutIsDue,
	untilRead,
} from "./read/frame-wait.ts";
import {
	openShardStream,
	readFrameHeader,
	readStreamAt,
	type StreamSettings,
	sequencesOf,
} from "./read/shard-stream.ts";
import { CutConflict } from "./read/standby.ts";
import type {
	SessionPosition,
	UncutFiles,
	UncutWork,
} from "./read/uncut-work.ts";
import type { WakeSignal } from "./read/wake-signal.ts";
import type { ArchiveMetrics } from "./write/archive-metrics.ts";
import type { CutStore } from "./write/cut-store.ts";
import type { CutWriter } from "./write/cut-writer.ts";
import {
	type KeySettings,
	NoRoomForKeys,
	openKeyBucket,
	settleKeys,
	withoutRepeats,
} from "./write/idempotency-settlement.ts";
import { NatsProgress } from "./write/nats-progress.ts";
import { eventFile } from "./write/parquet/event-file.ts";
import type { Tombstones } from "./write/tombstones.ts";

/** How late an archiver may learn of a deletion that another one carries out. */
const maxTombstonesAgeMs = 10_000;

export interface SessionOptions {
	number: number;
	connection: NatsConnection;
	cuts: CutStore;
	losses: CutLossStore;
	writer: CutWriter;
	tombstones: Tombstones;
	limits: CutLimits;
	stream: StreamSettings & KeySettings;
	metrics: ArchiveMetrics;
	log: Logger;
	ledger: ShardLedger;
	flushes: FlushRequests;
	betweenCuts: readonly UncutWork[];
	wakeSignal: WakeSignal;
	signal: AbortSignal;
	/** The chain that the session before left; undefined for none. */
	chain: CutChain | undefined;
}

/** One shard's work, cut by cut, from opening its stream until something fails. Nothing is kept only in memory. */
export class ShardSession {
	readonly #options: SessionOptions;
	readonly #progress: NatsProgress;
	readonly #keys: IdempotencyBucket;
	readonly #wait: FrameWait;
	#chain: CutChain;
	#isChainOutdated = false;
	readonly #openedAtMs = performance.now();
	/** A decided cut whose objects may not all be in the store. */
	#unfinished: CutRecord | undefined;

	private constructor(
		options: SessionOptions,
		opened: {
			progress: NatsProgress;
			keys: IdempotencyBucket;
			queue: FrameQueue;
			chain: CutChain;
			unfinished: CutRecord | undefined;
		},
	) {
		const { wakeSignal, signal } = options;
		const { queue, chain, unfinished } = opened;
		this.#options = options;
		this.#progress = opened.progress;
		this.#keys = opened.keys;
		this.#wait = { queue, wakeSignal, signal };
		this.#chain = chain;
		this.#unfinished = unfinished;
	}

	/** Opens the stream, made if it is missing, learns what was cut before, and begins to read. Throws {@link Alarm}. */
	static async open(options: SessionOptions): Promise<ShardSession> {
		const { connection, number: shard, log } = options;
		const { stream: settings, ledger } = options;
		const stream = await openShardStream(connection, shard, settings, log);
		const progress = await NatsProgress.open(connection, settings.replicas);
		const keys = await openKeyBucket(connection, settings);
		const { chain, position, lastSequence } = await catchUp(
			stream,
			options.chain,
			{ ...options, shard, progress },
		);
		const { from, unfinished } = position;
		if (options.chain && options.chain.stream !== stream) ledger.publishAgain();
		options.flushes.done(stream, from - 1);
		await unlessFull(lastSequence >= from, async () => {
			// The archiver before may have found no room for it, and died.
			if (from > 1) await progress.setObjectsDone(stream, from - 1);
			await ledger.publish(progress);
		});
		const queue = await FrameQueue.open(jetstream(connection), {
			stream,
			from,
			limits: options.limits,
			isTraced: options.writer.isTraced,
			onChange: () => options.wakeSignal.wake(),
		});
		log.info({ shard, stream, from }, "archiving the shard");
		return new ShardSession(options, {
			progress,
			keys,
			queue,
			chain,
			unfinished,
		});
	}

	/** The cuts so far; the next session begins with them. Undefined if that one has to read them again. */
	get chain(): CutChain | undefined {
		return this.#isChainOutdated ? undefined : this.#chain;
	}

	/** Stream time of the oldest frame that was read and isn't archived. */
	get oldestTimeMs(): number | undefined {
		return this.#wait.queue.oldestTimeMs;
	}

	/** Archives the next cut. Throws {@link Alarm}, {@link CutConflict}, {@link PositionLost}, or what failed. */
	async archiveCut(): Promise<void> {
		const cut = this.#unfinished ?? (await this.#decide());
		this.#unfinished = undefined;
		await this.#carryOut(cut);
	}

	async close(): Promise<void> {
		await this.#wait.queue.close();
	}

	async #decide(): Promise<CutRecord> {
		const { flushes, limits, cuts, number: shard, log } = this.#options;
		const { betweenCuts } = this.#options;
		const position = (uncut: UncutFrames): SessionPosition => ({
			stream: this.#chain.stream,
			next: this.#next,
			uncut,
			cutBytes: cutBytes(limits, uncut.sources),
		});
		const isAsked = (uncut: UncutFrames) =>
			betweenCuts.some((work) => work.isDue(position(uncut)));
		const readable = { isGone: false };
		while (!(await this.#untilCutIsDue(isAsked, readable)))
			for (const each of betweenCuts)
				await each.work(position(this.#wait.queue.uncut), (source) =>
					this.#readUncut(source),
				);
		const { stream, inherited } = this.#chain;
		const read = [...this.#wait.queue.peek()];
		const others = await this.#others(read);
		const cut = await this.#cutOf(read, others, readable.isGone);
		flushes.decided(cut.last, cut.groups.length, performance.now());
		const decided = await cuts.decide(cut);
		this.#chain = { stream, head: decided, inherited };
		if (decided === cut) reportLosses(shard, cut, log);
		else if (!isLost(decided))
			throw new CutConflict(`another archiver decided the cut at ${cut.first}`);
		return decided;
	}

	/**
	 * The cut of these frames, or of as many of the first as NATS has room to settle the keys of.
	 * @param isGone Whether NATS has the stream no more, and so may have no keys.
	 */
	async #cutOf(
		read: readonly StreamFrame[],
		others: OtherStreams,
		isGone: boolean,
	): Promise<CutRecord> {
		const { stream, head, inherited } = this.#chain;
		const known = head?.processes ?? inherited;
		const all = decideCut(stream, known, read, others);
		try {
			return await withoutRepeats(this.#keys, all, read);
		} catch (error) {
			// Better an event twice than never.
			if (isGone) return all;
			if (!(error instanceof NoRoomForKeys)) throw error;
			const before = read.filter((frame) => frame.sequence < error.sequence);
			if (before.length === 0) throw error;
			return this.#cutOf(before, others, isGone);
		}
	}

	/**
	 * As {@link untilCutIsDue}. What was read of a stream becomes a cut, too, once NATS has it no more or doesn't answer: nobody may
	 * be able to read it again.
	 */
	async #untilCutIsDue(
		isAsked: (uncut: UncutFrames) => boolean,
		readable: { isGone: boolean },
	): Promise<boolean> {
		const { flushes, limits, connection, signal } = this.#options;
		try {
			return await untilCutIsDue(this.#wait, flushes, limits, isAsked);
		} catch (error) {
			if (signal.aborted || this.#wait.queue.uncut.frames === 0) throw error;
			const { streams } = await jetstreamManager(connection, {
				checkAPI: false,
			});
			const state = await sequencesOf(streams, this.#chain.stream).catch(
				() => "away" as const,
			);
			if (state !== undefined && state !== "away") throw error;
			readable.isGone = state === undefined;
			return true;
		}
	}

	async #others(read: readonly StreamFrame[]): Promise<OtherStreams> {
		const { maxAgeMs } = this.#options.limits;
		const openedAtMs = this.#openedAtMs;
		const options = { ...this.#options, openedAtMs, maxAgeMs };
		try {
			return await otherStreams(read, this.#chain, options);
		} catch (error) {
			this.#isChainOutdated = error instanceof ChainOutdated;
			throw error;
		}
	}

	/** The source's events in frames that no cut has. Meanwhile none is cut or freed. */
	async #readUncut(source: CutSource): Promise<UncutFiles> {
		const { stream, head, inherited } = this.#chain;
		const frames = [...this.#wait.queue.peek()];
		const { repeated } = numbersOf(head?.processes ?? inherited, frames);
		const { sourceKey } = source;
		const copies = await settleKeys(this.#keys, frames, repeated, sourceKey);
		const groups = groupEvents(frames, repeated, copies, source);
		const files: UncutFiles["files"] = [];
		for (const { group, events } of groups) {
			const { date, rows } = group;
			files.push({ date, rows, body: await eventFile(events) });
		}
		const first = this.#next;
		const last = frames.at(-1)?.sequence ?? first - 1;
		return { stream, first, last, files };
	}

	/** The first sequence of the next cut. */
	get #next(): number {
		return (this.#chain.head?.last ?? 0) + 1;
	}

	/** This process or another may repeat each step, and a crash between two steps loses nothing. */
	async #carryOut(cut: CutRecord): Promise<void> {
		const { connection, writer, tombstones, metrics } = this.#options;
		const { number: shard, ledger, flushes } = this.#options;
		// An archiver that still has the frames in memory drops them: it is decided that they are lost.
		if (isLost(cut)) throw new PositionLost("a cut says that frames are lost");
		await untilRead(this.#wait, cut.last).catch(async (error) => {
			if (error instanceof SequenceSkipped) await this.#giveUp(cut, error);
			throw error;
		});
		await tombstones.refresh(maxTombstonesAgeMs);
		const frames = this.#wait.queue.take(cut.last);
		const lastBytes = frames.at(-1)?.bytes ?? 0;
		const groups = eventsOfCut(cut, frames);
		const setObjectsDone = () =>
			this.#progress.setObjectsDone(cut.stream, cut.last);
		await writer.write(shard, cut, groups);
		const isFull = await unlessFull(true, setObjectsDone);
		this.#wait.queue.free(frames);
		// The frames may have been read before the stream was restored from an old backup.
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		const found = await readStreamAt(
			streams,
			cut.stream,
			cut.last,
			async () => {
				const mark = await readFrameHeader(
					connection,
					cut.stream,
					cut.last,
					lastBytes,
				);
				// What differs is read in full before it raises an alarm.
				return mark?.id === cut.lastFrame.id ? mark : undefined;
			},
		);
		verifyStream(cut, found);
		ledger.learn(cut);
		ledger.forgetDeleted();
		flushes.done(cut.stream, cut.last);
		metrics.countCut(shard, cut);
		await streams.purge(cut.stream, { seq: cut.last + 1 });
		await unlessFull(found.lastSequence > cut.last, async () => {
			if (isFull) await setObjectsDone();
			await ledger.publish(this.#progress);
		});
	}

	/**
	 * If NATS has lost a frame between its cut and the cut's objects, nobody can write these objects any more. Once that is
	 * settled, the cut counts as done.
	 */
	async #giveUp(cut: CutRecord, { sequence }: SequenceSkipped): Promise<void> {
		const { connection, number: shard } = this.#options;
		const { stream, last } = cut;
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		// Another archiver may have finished the cut and purged its frames.
		const { state, ts } = await streams.info(stream);
		const { first_seq: firstSequence } = state;
		if (sequence > last || firstSequence > sequence) return;
		await settleCut(cut, false, {
			...this.#options,
			shard,
			natsTime: ts!,
		});
		await this.#progress.setObjectsDone(stream, last);
	}
}

/**
 * Tells NATS. If it has no room for that and `isMore` is to be purged, which makes room, nothing is thrown and the result is
 * true: it is told later.
 */
async function unlessFull(
	isMore: boolean,
	tell: () => Promise<void>,
): Promise<boolean> {
	try {
		await tell();
		return false;
	} catch (error) {
		if (!isMore || !isNoRoom(error)) throw error;
		return true;
	}
}

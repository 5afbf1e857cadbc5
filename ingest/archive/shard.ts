import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../../service/log.ts";
import type { IdempotencyBucket } from "../wire/idempotency-bucket.ts";
import { pause, WakeSignal } from "./concurrency/wait.ts";
import { Alarm } from "./decide/alarm.ts";
import {
	type CutRecord,
	decideCut,
	inheritNumbers,
	lostCut,
} from "./decide/cut.ts";
import type { AcceptedLoss } from "./decide/loss.ts";
import { resume } from "./decide/resume.ts";
import { verifyStream } from "./decide/stream-identity.ts";
import type { LedgerIndex } from "./ledger/ledger-index.ts";
import type { LedgerSnapshots } from "./ledger/ledger-snapshots.ts";
import { ShardLedger } from "./ledger/shard-ledger.ts";
import type { ArchiveMetrics } from "./metrics/archive-metrics.ts";
import { FrameQueue, PositionLost } from "./read/frame-queue.ts";
import type { CutLimits } from "./read/frame-wait.ts";
import { type FrameWait, untilCutIsDue, untilRead } from "./read/frame-wait.ts";
import {
	openShardStream,
	readStreamAt,
	type StreamSettings,
} from "./read/shard-stream.ts";
import { Outpaced, standBy } from "./read/standby.ts";
import { FlushRequests } from "./request/flush-requests.ts";
import type { CutStore } from "./write/cut-store.ts";
import type { CutWriter } from "./write/cut-writer.ts";
import {
	type KeySettings,
	openKeyBucket,
} from "./write/key-bucket-creation.ts";
import { withoutRepeats } from "./write/key-settlement.ts";
import { untilAccepted } from "./write/loss-acceptance.ts";
import type { LossStore } from "./write/loss-store.ts";
import { NatsProgress } from "./write/nats-progress.ts";
import type { Tombstones } from "./write/tombstones.ts";

export interface ShardOptions {
	number: number;
	connection: NatsConnection;
	cuts: CutStore;
	snapshots: LedgerSnapshots;
	losses: LossStore;
	writer: CutWriter;
	tombstones: Tombstones;
	limits: CutLimits;
	stream: StreamSettings & KeySettings;
	/** Throws when the store can't be used; asked until it can. */
	checkStore: () => Promise<void>;
	metrics: ArchiveMetrics;
	log: Logger;
}

const maxBackoffMs = 10_000;
/** How late an archiver may be to hear of a deletion that another was asked for. */
const maxTombstonesAgeMs = 10_000;

/**
 * Moves one shard's frames into the store, for as long as the process lives (design §5). All it knows is read from the
 * store and the stream, so any failure is answered the same way: forget what was under way, wait, begin at the newest
 * cut. An {@link Alarm} alone stops it: until the process starts again, or a person accepts what is lost.
 */
export class Shard {
	readonly number: number;
	readonly flushes: FlushRequests;
	readonly #ledger: ShardLedger;
	readonly #options: ShardOptions;
	readonly #wakeSignal = new WakeSignal();
	#state: { isRunning: boolean; reason?: string } = {
		isRunning: false,
		reason: "starting",
	};
	#alarm: Alarm | undefined;
	#stream: string | undefined;
	#head: CutRecord | undefined;
	/** Of the shard's earlier streams. */
	#inherited: CutRecord["processes"] = {};
	#isStoreChecked = false;
	#areCutsListed = false;
	#accepted: AcceptedLoss[] = [];
	#queue: FrameQueue | undefined;
	#keys: IdempotencyBucket | undefined;
	#failures = 0;

	constructor(options: ShardOptions) {
		this.#options = options;
		this.number = options.number;
		const { number, snapshots, tombstones } = options;
		this.#ledger = new ShardLedger(number, snapshots, tombstones);
		this.flushes = new FlushRequests(() => this.#wakeSignal.wake());
	}

	/** What is archived, as of the last cut whose objects are all in the store. */
	get index(): LedgerIndex {
		return this.#ledger.index;
	}

	/** Why the shard isn't being archived now; undefined when it is. */
	get notReady(): string | undefined {
		return this.#state.isRunning
			? undefined
			: `shard ${this.number}: ${this.#state.reason}`;
	}

	/** Set while the shard has stopped. */
	get alarm(): Alarm | undefined {
		return this.#alarm;
	}

	/** Age of the oldest frame that was read and isn't archived. */
	get lagSeconds(): number {
		const oldestMs = this.#queue?.oldestTimeMs;
		return oldestMs === undefined
			? 0
			: Math.max(0, (Date.now() - oldestMs) / 1000);
	}

	/** Forgets those sources whose events are deleted. */
	forgetDeleted(): void {
		this.#ledger.forgetDeleted();
	}

	/** Settles when the signal fires. After an alarm nothing is done until then, or until what is lost is accepted. */
	async run(signal: AbortSignal): Promise<void> {
		const { log, metrics, number: shard } = this.#options;
		const wake = () => this.#wakeSignal.wake();
		signal.addEventListener("abort", wake);
		metrics.alarm.set({ shard }, 0);
		while (!signal.aborted) {
			try {
				await this.#session(signal);
			} catch (error) {
				if (signal.aborted) break;
				if (error instanceof Alarm) {
					this.#stopFor(error);
					await this.#untilAccepted(error, signal);
				} else if (error instanceof Outpaced) await this.#standBy(signal);
				else await this.#backOff(error, signal);
			}
		}
		signal.removeEventListener("abort", wake);
		log.info({ shard }, "the shard is no longer archived");
	}

	#stopFor(alarm: Alarm): void {
		const { log, metrics, number: shard } = this.#options;
		this.#alarm = alarm;
		this.#state = { isRunning: false, reason: alarm.message };
		this.flushes.stop(alarm);
		metrics.alarm.set({ shard }, 1);
		log.error({ shard, alarm: alarm.code }, `ALARM: ${alarm.message}`);
	}

	/** Settles when a person has accepted what the alarm says is lost, or the signal fires. */
	async #untilAccepted(alarm: Alarm, signal: AbortSignal): Promise<void> {
		const { losses, log, metrics, number: shard } = this.#options;
		await untilAccepted(losses, alarm, { shard, log, signal });
		if (signal.aborted) return;
		this.#alarm = undefined;
		this.flushes.goOn();
		metrics.alarm.set({ shard }, 0);
	}

	/** While another archiver does the work. The shard is as ready as if it were this one. */
	async #standBy(signal: AbortSignal): Promise<void> {
		const { connection, limits, log, metrics, number: shard } = this.#options;
		log.info({ shard }, "another archiver is at work; this one stands by");
		metrics.active.set({ shard }, 0);
		const wait = {
			flushes: this.flushes,
			wakeSignal: this.#wakeSignal,
			signal,
		};
		await standBy(connection, this.#stream!, wait, limits.maxAgeMs).catch(
			(error) => this.#backOff(error, signal),
		);
	}

	async #backOff(error: unknown, signal: AbortSignal): Promise<void> {
		const { log, metrics, number: shard } = this.#options;
		const reason = error instanceof Error ? error.message : String(error);
		const isExpected = error instanceof PositionLost;
		this.#state = { isRunning: false, reason };
		if (isExpected) log.info({ shard, reason }, "reading begins again");
		else {
			metrics.failures.inc({ shard });
			log.warn({ shard, reason }, "archiving failed; it begins again");
		}
		const bound = Math.min(maxBackoffMs, 200 * 2 ** this.#failures++);
		// Full jitter, so that shards don't come back in step.
		await pause(Math.random() * bound, signal);
	}

	async #session(signal: AbortSignal): Promise<void> {
		const { connection, limits, stream: settings, log } = this.#options;
		const { losses, number: shard } = this.#options;
		if (!this.#isStoreChecked) await this.#options.checkStore();
		this.#isStoreChecked = true;
		const stream = await openShardStream(connection, shard, settings, log);
		const progress = await NatsProgress.open(connection, settings.replicas);
		this.#accepted = await losses.accepted(stream);
		this.#keys = await openKeyBucket(connection, settings);
		const { from, unfinished } = await this.#catchUp(stream, progress);
		await this.#ledger.publish(progress);
		const queue = await FrameQueue.open(jetstream(connection), {
			stream,
			from,
			maxBytes: limits.maxBytes,
			onChange: () => this.#wakeSignal.wake(),
		});
		this.#queue = queue;
		const wait = { queue, wakeSignal: this.#wakeSignal, signal };
		this.#state = { isRunning: true };
		this.#options.metrics.active.set({ shard }, 1);
		log.info({ shard, stream, from }, "the shard is archived");
		try {
			let cut = unfinished;
			while (!signal.aborted) {
				cut ??= await this.#decide(stream, wait);
				await this.#carryOut(cut, wait, progress);
				cut = undefined;
				this.#failures = 0;
			}
		} finally {
			this.#queue = undefined;
			await queue.close();
		}
	}

	/** Learns the cuts that were made since, by this archive or another, and where to go on. */
	async #catchUp(
		stream: string,
		progress: NatsProgress,
	): Promise<ReturnType<typeof resume>> {
		const { connection, cuts, number: shard } = this.#options;
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		if (stream !== this.#stream) {
			this.#head = undefined;
			this.#areCutsListed = false;
		}
		this.#stream = stream;
		// In this order: see resume().
		const { first_seq: firstSequence } = (await streams.info(stream)).state;
		await this.#options.tombstones.refresh();
		await this.#ledger.begin();
		const news = this.#areCutsListed
			? await cuts.ofStream(stream, this.#head)
			: await cuts.ofShard(shard, this.index.newestOfStream);
		const objectsDone = await progress.objectsDone(stream);
		const ofThis = news.filter((cut) => cut.stream === stream);
		const ofOthers = news.filter((cut) => cut.stream !== stream);
		const before = ofThis.at(-1) ? [this.#head, ...ofThis.slice(0, -1)] : [];
		const head = ofThis.at(-1) ?? this.#head;
		const atHead = await readStreamAt(streams, stream, head?.last);
		const state = { firstSequence, ...atHead };
		if (!this.#areCutsListed) this.#inherited = inheritNumbers(ofOthers);
		const accepted = this.#accepted;
		const position = resume(stream, head, state, objectsDone, accepted);
		if (position.lost) {
			await cuts.decide(lostCut(position.lost, head, this.#inherited));
			throw new PositionLost(
				`stream ${stream}: sequences ${position.lost.from} to ${position.lost.to} are lost, as accepted`,
			);
		}
		for (const cut of ofOthers) this.#ledger.learn(cut);
		for (const cut of before) if (cut) this.#ledger.learn(cut);
		if (head && !position.unfinished) this.#ledger.learn(head);
		this.#head = head;
		this.#areCutsListed = true;
		if (firstSequence < position.from)
			await streams.purge(stream, { seq: position.from });
		this.forgetDeleted();
		this.flushes.done(stream, position.from - 1);
		return position;
	}

	async #decide(stream: string, wait: FrameWait): Promise<CutRecord> {
		await untilCutIsDue(wait, this.flushes, this.#options.limits);
		const known = this.#head?.processes ?? this.#inherited;
		const read = wait.queue.peek();
		const all = decideCut(stream, known, read, this.#accepted);
		const cut = await withoutRepeats(this.#keys!, all, read);
		this.#head = await this.#options.cuts.decide(cut);
		if (this.#head !== cut && !this.#head.lost)
			throw new Outpaced(`another archiver decided the cut at ${cut.first}`);
		return this.#head;
	}

	/** Each step may be repeated, by this process or another, and a crash between two loses nothing (design §5). */
	async #carryOut(
		cut: CutRecord,
		wait: FrameWait,
		progress: NatsProgress,
	): Promise<void> {
		const { connection, writer, tombstones, metrics } = this.#options;
		const { number: shard } = this.#options;
		// Whoever has its frames in memory still lets them go: that they are lost is decided.
		if (cut.lost) throw new PositionLost("a cut says that frames are lost");
		await untilRead(wait, cut.last);
		await tombstones.refresh(maxTombstonesAgeMs);
		await writer.write(shard, cut, wait.queue.take(cut.last));
		await progress.setObjectsDone(cut.stream, cut.last);
		// The frames may have been in memory since before the stream was restored from an old copy.
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		verifyStream(cut, await readStreamAt(streams, cut.stream, cut.last));
		this.#ledger.learn(cut);
		this.forgetDeleted();
		this.flushes.done(cut.stream, cut.last);
		metrics.countCut(shard, cut);
		await streams.purge(cut.stream, { seq: cut.last + 1 });
		await this.#ledger.publish(progress);
	}
}

import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import type { Logger } from "../../service/log.ts";
import { Alarm } from "./alarm.ts";
import { mapConcurrently } from "./concurrency.ts";
import { type CutRecord, decideCut, inheritNumbers } from "./cut.ts";
import type { CutLimits } from "./cut-due.ts";
import type { CutStore } from "./cut-store.ts";
import type { CutWriter } from "./cut-writer.ts";
import { Doorbell } from "./doorbell.ts";
import { FlushRequests } from "./flush-requests.ts";
import { FrameQueue, PositionLost } from "./frame-queue.ts";
import { type FrameWait, untilCutIsDue, untilRead } from "./frame-waits.ts";
import { type IndexedSource, LedgerIndex, ledgerOf } from "./ledger-index.ts";
import type { LedgerSnapshots } from "./ledger-snapshots.ts";
import type { ArchiveMetrics } from "./metrics.ts";
import { Publication } from "./publication.ts";
import { resume } from "./resume.ts";
import {
	openShardStream,
	readStreamAt,
	type StreamSettings,
} from "./shard-stream.ts";
import { verifyStream } from "./stream-identity.ts";
import type { Tombstones } from "./tombstones.ts";

export interface ShardOptions {
	number: number;
	connection: NatsConnection;
	cuts: CutStore;
	snapshots: LedgerSnapshots;
	writer: CutWriter;
	tombstones: Tombstones;
	limits: CutLimits;
	stream: StreamSettings;
	/** Throws when the store can't be used; asked until it can. */
	checkStore: () => Promise<void>;
	metrics: ArchiveMetrics;
	log: Logger;
}

const maxBackoffMs = 10_000;
const ledgersAtOnce = 16;
/** How late an archiver may be to hear of a deletion that another was asked for. */
const maxTombstonesAgeMs = 10_000;
/** A restart reads a few more records than these, in a second or two. */
const cutsBetweenSnapshots = 500;

/**
 * Moves one shard's frames into the store, for as long as the process lives (design §5). All it knows is read from the
 * store and the stream, so any failure is answered the same way: forget what was under way, wait, begin at the newest
 * cut. An {@link Alarm} alone is for good.
 */
export class Shard {
	readonly number: number;
	/** What is archived, as of the last cut whose objects are all in the store. */
	index = new LedgerIndex();
	readonly flushes: FlushRequests;
	readonly #options: ShardOptions;
	readonly #bell = new Doorbell();
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
	/** Cut records that a restart would have to read. */
	#cutsSinceSnapshot = 0;
	#unpublished = new Set<IndexedSource>();
	#queue: FrameQueue | undefined;
	#failures = 0;

	constructor(options: ShardOptions) {
		this.#options = options;
		this.number = options.number;
		this.flushes = new FlushRequests(() => this.#bell.ring());
	}

	/** Why the shard isn't being archived now; undefined when it is. */
	get notReady(): string | undefined {
		return this.#state.isRunning
			? undefined
			: `shard ${this.number}: ${this.#state.reason}`;
	}

	/** Set once the shard has stopped for good. */
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
		const { tombstones } = this.#options;
		for (const source of this.index.sources())
			if (tombstones.has(source)) {
				this.index.remove(source);
				this.#unpublished.delete(source);
			}
	}

	/** Settles when the signal fires; after an alarm, too, nothing is done until then. */
	async run(signal: AbortSignal): Promise<void> {
		const { log, metrics, number: shard } = this.#options;
		const ring = () => this.#bell.ring();
		signal.addEventListener("abort", ring);
		metrics.alarm.set({ shard }, 0);
		while (!signal.aborted) {
			try {
				await this.#session(signal);
			} catch (error) {
				if (signal.aborted) break;
				if (error instanceof Alarm) {
					this.#stopFor(error);
					break;
				}
				await this.#backOff(error, signal);
			}
		}
		signal.removeEventListener("abort", ring);
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
		await delay(Math.random() * bound, undefined, { signal }).catch(
			() => undefined,
		);
	}

	async #session(signal: AbortSignal): Promise<void> {
		const { connection, limits, stream: settings, log } = this.#options;
		const { number: shard } = this.#options;
		if (!this.#isStoreChecked) await this.#options.checkStore();
		this.#isStoreChecked = true;
		const stream = await openShardStream(connection, shard, settings, log);
		const publication = await Publication.open(connection, settings.replicas);
		const { from, unfinished } = await this.#catchUp(stream, publication);
		await this.#publishLedgers(publication);
		const queue = await FrameQueue.open(jetstream(connection), {
			stream,
			from,
			maxBytes: limits.maxBytes,
			onChange: () => this.#bell.ring(),
		});
		this.#queue = queue;
		const wait = { queue, bell: this.#bell, signal };
		this.#state = { isRunning: true };
		log.info({ shard, stream, from }, "the shard is archived");
		try {
			let cut = unfinished;
			while (!signal.aborted) {
				cut ??= await this.#decide(stream, wait);
				await this.#carryOut(cut, wait, publication);
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
		publication: Publication,
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
		if (this.index.newestOfStream.size === 0) await this.#readSnapshot();
		const news = this.#areCutsListed
			? await cuts.ofStream(stream, this.#head)
			: await cuts.ofShard(shard, this.index.newestOfStream);
		const objectsDone = await publication.objectsDone(stream);
		const ofThis = news.filter((cut) => cut.stream === stream);
		const ofOthers = news.filter((cut) => cut.stream !== stream);
		const before = ofThis.at(-1) ? [this.#head, ...ofThis.slice(0, -1)] : [];
		const head = ofThis.at(-1) ?? this.#head;
		const atHead = await readStreamAt(streams, stream, head?.last);
		const state = { firstSequence, ...atHead };
		const position = resume(stream, head, state, objectsDone);
		if (!this.#areCutsListed) this.#inherited = inheritNumbers(ofOthers);
		for (const cut of ofOthers) this.#learn(cut);
		for (const cut of before) if (cut) this.#learn(cut);
		if (head && !position.unfinished) this.#learn(head);
		this.#head = head;
		this.#areCutsListed = true;
		if (firstSequence < position.from)
			await streams.purge(stream, { seq: position.from });
		this.forgetDeleted();
		this.flushes.done(stream, position.from - 1);
		return position;
	}

	async #readSnapshot(): Promise<void> {
		const { snapshots, number: shard } = this.#options;
		this.index = (await snapshots.newest(shard)) ?? this.index;
		for (const source of this.index.sources()) this.#unpublished.add(source);
	}

	/** Takes a cut into the index whose objects are all in the store. */
	#learn(cut: CutRecord): void {
		this.index.add(cut);
		this.#cutsSinceSnapshot++;
		for (const { account, sourceKey } of cut.groups) {
			const source = this.index.source(account, sourceKey);
			if (source) this.#unpublished.add(source);
		}
	}

	async #decide(stream: string, wait: FrameWait): Promise<CutRecord> {
		await untilCutIsDue(wait, this.flushes, this.#options.limits);
		const known = this.#head?.processes ?? this.#inherited;
		const cut = decideCut(stream, known, wait.queue.peek());
		this.#head = await this.#options.cuts.decide(cut);
		return this.#head;
	}

	/** Each step may be repeated, by this process or another, and a crash between two loses nothing (design §5). */
	async #carryOut(
		cut: CutRecord,
		wait: FrameWait,
		publication: Publication,
	): Promise<void> {
		const { connection, writer, tombstones, metrics } = this.#options;
		const { number: shard } = this.#options;
		await untilRead(wait, cut.last);
		await tombstones.refresh(maxTombstonesAgeMs);
		await writer.write(shard, cut, wait.queue.take(cut.last));
		await publication.setObjectsDone(cut.stream, cut.last);
		// The frames may have been in memory since before the stream was restored from an old copy.
		const { streams } = await jetstreamManager(connection, { checkAPI: false });
		verifyStream(cut, await readStreamAt(streams, cut.stream, cut.last));
		this.#learn(cut);
		this.forgetDeleted();
		this.flushes.done(cut.stream, cut.last);
		metrics.countCut(shard, cut);
		await streams.purge(cut.stream, { seq: cut.last + 1 });
		await this.#publishLedgers(publication);
	}

	async #publishLedgers(publication: Publication): Promise<void> {
		if (this.#cutsSinceSnapshot >= cutsBetweenSnapshots) {
			await this.#options.snapshots.write(this.number, this.index);
			this.#cutsSinceSnapshot = 0;
		}
		await mapConcurrently(
			[...this.#unpublished],
			ledgersAtOnce,
			async (source) => {
				await publication.setLedger(ledgerOf(source));
				this.#unpublished.delete(source);
			},
		);
	}
}

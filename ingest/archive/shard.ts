import { once } from "node:events";
import { natsReason } from "../../packages/service/nats/connection.ts";
import { backoffMs, pause } from "../../packages/service/pause.ts";
import { Alarm } from "./decide/alarm.ts";
import type { LedgerIndex } from "./ledger/ledger-index.ts";
import type { LedgerSnapshots } from "./ledger/ledger-snapshots.ts";
import { ShardLedger } from "./ledger/shard-ledger.ts";
import { FlushRequests } from "./read/flush-requests.ts";
import { PositionLost } from "./read/frame-queue.ts";
import { CutConflict, standBy } from "./read/standby.ts";
import type { UncutWork } from "./read/uncut-work.ts";
import { WakeSignal } from "./read/wake-signal.ts";
import { type SessionOptions, ShardSession } from "./session.ts";

export interface ShardOptions
	extends Omit<
		SessionOptions,
		"ledger" | "flushes" | "betweenCuts" | "wakeSignal" | "signal" | "chain"
	> {
	snapshots: LedgerSnapshots;
	/** Throws if the store can't be used; called until it can. */
	checkStore: () => Promise<void>;
}

const backoff = { baseMs: 200, maxMs: 10_000 };

/**
 * Moves one shard's frames into the store for as long as the process lives. All that it knows comes from the store and
 * the stream, so it handles every failure alike: drop the session, wait, begin a new one at the newest cut. Only an
 * {@link Alarm} stops it, until the process restarts.
 */
export class Shard {
	readonly number: number;
	readonly flushes: FlushRequests;
	readonly #betweenCuts: UncutWork[] = [];
	readonly #ledger: ShardLedger;
	readonly #options: ShardOptions;
	readonly #wakeSignal = new WakeSignal();
	#state: { isRunning: boolean; reason?: string } = {
		isRunning: false,
		reason: "starting",
	};
	#alarm: Alarm | undefined;
	#isStoreChecked = false;
	#session: ShardSession | undefined;
	/** Without a session: the stream time of the oldest frame that the last one left, or since when nobody has read any. */
	#behindSinceMs: number | undefined = Date.now();
	/** Of the latest session, so that the next one reads new cut records only. */
	#chain: ShardSession["chain"] | undefined;
	#failures = 0;

	constructor(options: ShardOptions) {
		this.#options = options;
		this.number = options.number;
		const { number, snapshots, tombstones, log } = options;
		this.#ledger = new ShardLedger(number, snapshots, tombstones, log);
		this.flushes = new FlushRequests(() => this.#wakeSignal.wake());
	}

	/** What is archived, as of the last cut whose objects are all in the store. */
	get index(): LedgerIndex {
		return this.#ledger.index;
	}

	/** Why the shard isn't being archived; undefined when it is. */
	get notReady(): string | undefined {
		return this.#state.isRunning
			? undefined
			: `shard ${this.number}: ${this.#state.reason}`;
	}

	/** Whether this process does the work now, and has learned all cuts of before. */
	get isArchiving(): boolean {
		return this.#session !== undefined;
	}

	/** Whether the latest tries have failed, or it hasn't begun. A session that has nothing to do is well. */
	get isFailing(): boolean {
		if (!this.#session) return !this.#state.isRunning;
		return this.#failures > 0 && this.#session.oldestTimeMs !== undefined;
	}

	get alarm(): Alarm | undefined {
		return this.#alarm;
	}

	/**
	 * Age of the oldest frame that was read and isn't archived. While nobody reads, its age as of the last session, or for how
	 * long. 0 after an alarm, and while another archiver does the work.
	 */
	get lagSeconds(): number {
		const oldestMs = this.#session
			? this.#session.oldestTimeMs
			: this.#behindSinceMs;
		return oldestMs === undefined
			? 0
			: Math.max(0, (Date.now() - oldestMs) / 1000);
	}

	forgetDeleted(): void {
		this.#ledger.forgetDeleted();
	}

	/** Does this work between cuts from now on. Returns what is to be called when there is something to do. */
	workBetweenCuts(work: UncutWork): () => void {
		this.#betweenCuts.push(work);
		return () => this.#wakeSignal.wake();
	}

	/** Settles when the signal fires. After an alarm, nothing happens until then. */
	async run(signal: AbortSignal): Promise<void> {
		const { log, metrics, number: shard } = this.#options;
		const wake = () => this.#wakeSignal.wake();
		signal.addEventListener("abort", wake);
		metrics.alarm.set({ shard }, 0);
		while (!signal.aborted) {
			try {
				await this.#archive(signal);
			} catch (error) {
				if (signal.aborted) break;
				if (error instanceof Alarm) {
					this.#stopFor(error);
					if (!signal.aborted) await once(signal, "abort");
				} else if (error instanceof CutConflict) await this.#standBy(signal);
				else await this.#backOff(error, signal);
			}
		}
		signal.removeEventListener("abort", wake);
		log.info({ shard }, "stopped archiving the shard");
	}

	async #archive(signal: AbortSignal): Promise<void> {
		const { checkStore, metrics, number: shard } = this.#options;
		if (!this.#isStoreChecked) await checkStore();
		this.#isStoreChecked = true;
		const session = await ShardSession.open({
			...this.#options,
			ledger: this.#ledger,
			flushes: this.flushes,
			betweenCuts: this.#betweenCuts,
			wakeSignal: this.#wakeSignal,
			signal,
			chain: this.#chain,
		});
		this.#session = session;
		this.#state = { isRunning: true };
		metrics.active.set({ shard }, 1);
		try {
			while (!signal.aborted) {
				await session.archiveCut();
				this.#failures = 0;
			}
		} finally {
			this.#chain = session.chain;
			this.#behindSinceMs = session.oldestTimeMs ?? Date.now();
			this.#session = undefined;
			await session.close();
		}
	}

	#stopFor(alarm: Alarm): void {
		const { log, metrics, number: shard } = this.#options;
		this.#alarm = alarm;
		this.#behindSinceMs = undefined;
		this.#state = { isRunning: false, reason: alarm.message };
		this.flushes.stop(alarm);
		for (const work of this.#betweenCuts) work.stop();
		metrics.alarm.set({ shard }, 1);
		log.error({ shard, alarm: alarm.code }, `ALARM: ${alarm.message}`);
	}

	/** While another archiver does the work, the shard stays ready. */
	async #standBy(signal: AbortSignal): Promise<void> {
		const { connection, limits, log, metrics, number: shard } = this.#options;
		log.info({ shard }, "another archiver is at work; standing by");
		metrics.active.set({ shard }, 0);
		this.#behindSinceMs = undefined;
		const wait = {
			flushes: this.flushes,
			others: this.#betweenCuts,
			wakeSignal: this.#wakeSignal,
			signal,
		};
		const { stream } = this.#chain!;
		await standBy(connection, stream, wait, limits.maxAgeMs)
			.catch((error) => this.#backOff(error, signal))
			.finally(() => {
				this.#behindSinceMs = Date.now();
			});
	}

	async #backOff(error: unknown, signal: AbortSignal): Promise<void> {
		const { log, metrics, number: shard } = this.#options;
		const reason = natsReason(error);
		const isExpected = error instanceof PositionLost;
		this.#state = { isRunning: false, reason };
		if (isExpected) log.info({ shard, reason }, "reading restarts");
		else {
			metrics.failures.inc({ shard });
			log.warn({ shard, reason }, "archiving failed; trying again");
		}
		await pause(backoffMs(++this.#failures, backoff), signal);
	}
}

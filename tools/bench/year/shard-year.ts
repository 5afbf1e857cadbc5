import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
// prom-client: see archive-metrics.ts.
import { Registry } from "prom-client";
import type { CutRecord } from "../../../ingest/archive/decide/cut.ts";
import { ledgerOf } from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import { ShardLedger } from "../../../ingest/archive/ledger/shard-ledger.ts";
import { CutLossStore } from "../../../ingest/archive/losses.ts";
import type { ArchiveSettings } from "../../../ingest/archive/settings.ts";
import { ArchiveMetrics } from "../../../ingest/archive/write/archive-metrics.ts";
import { CutStore } from "../../../ingest/archive/write/cut-store.ts";
import type { NatsProgress } from "../../../ingest/archive/write/nats-progress.ts";
import { Tombstones } from "../../../ingest/archive/write/tombstones.ts";
import { AddedLedgers } from "../../../ingest/lake/addition/added-ledgers.ts";
import { Compactor } from "../../../ingest/lake/compaction/compactor.ts";
import { CompactionStore } from "../../../ingest/lake/compaction/record.ts";
import { Lister } from "../../../ingest/lake/lists/lister.ts";
import type { LakeContext } from "../../../ingest/lake/request/context.ts";
import {
	deleteSourceObjects,
	sweepDeleted,
} from "../../../ingest/lake/retention/deletion.ts";
import { RetentionKeeper } from "../../../ingest/lake/retention/retention-keeper.ts";
import type { SourceName } from "../../../packages/bucket/object-keys.ts";
import { streamName } from "../../../packages/contracts/nats.ts";
import {
	addDays,
	dayMs,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import {
	type Requests,
	requestDollars,
	storageDollars,
	YearBucket,
} from "./bucket.ts";
import {
	bytesOfEvent,
	bytesOfIndexed,
	cutsOfDay,
	eventsOfFrame,
	usualSettings,
	type YearOptions,
} from "./year-options.ts";

const hourMs = 3_600_000;
/** The process that numbers the frames. */
const receive = "0".repeat(32);
/** A new Source takes the place of one that is deleted, so often. */
const daysBetweenDeletions = 4;
const runsOfSource = 1;
/** {@link ShardSession} asks no more often. */
const tombstonesEveryMs = 10_000;

/** What archive has and does on one day. All but memory is what the real shard would have. */
export interface SimulatedDay {
	day: number;
	/** Memory in use at the end of the day, after a collection. */
	heapBytes: number;
	/** Without the bucket's. */
	residentBytes: number;
	/** The same with an index of all objects, and not only of those that were simulated. */
	wholeHeapBytes: number;
	/** Objects that the ledger's index holds. */
	indexed: number;
	/** Of the shard in the bucket. */
	objects: number;
	storedBytes: number;
	requests: Requests;
	/** Of the requests and a day of storage. */
	dollars: number;
}

/** What one archive process keeps in memory. */
interface Archive {
	cuts: CutStore;
	ledger: ShardLedger;
	tombstones: Tombstones;
	compactor: Compactor;
	lister: Lister;
	retention: RetentionKeeper;
	released: AddedLedgers;
}

/**
 * One shard with its process's whole work on the bucket, day by day. NATS and Parquet aren't there: a cut's record and objects
 * are written as archive would write them.
 */
export class ShardYear {
	readonly #options: YearOptions;
	readonly #settings: ArchiveSettings;
	readonly #log = createLog("bench");
	readonly #bucket = new YearBucket(bytesOfEvent.row);
	readonly #signal = new AbortController().signal;
	readonly #scratch: string;
	readonly #held: () => number;
	readonly #startMs = Date.UTC(2026, 0, 1);
	readonly #stream = streamName(0, "0123456789abcdef");
	readonly #sources: SourceName[];
	/** Of NATS, which isn't there. */
	readonly #progress = {
		setLedger: async () => undefined,
		setShard: async () => undefined,
		setDeleted: async () => undefined,
		setAdded: async () => undefined,
	} as unknown as NatsProgress;
	/** What the index takes for an object that isn't simulated. */
	readonly #bytesOfIndexed: number;
	#archive: Archive;
	#nowMs = this.#startMs;
	#nextSequence = 1;
	#sourcesMade = 0;

	private constructor(
		options: YearOptions,
		scratch: string,
		held: () => number,
	) {
		this.#held = held;
		this.#settings = usualSettings(options.shardsOfProcess);
		this.#options = options;
		this.#scratch = scratch;
		this.#bytesOfIndexed = bytesOfIndexed(
			options,
			cutsOfDay(options, this.#settings.limits),
			held,
		);
		// The classes that take no clock ask this one.
		Date.now = () => this.#nowMs;
		this.#sources = Array.from({ length: options.sources }, () =>
			this.#newSource(),
		);
		this.#archive = this.#start();
	}

	/**
	 * Calls `onDay` at the end of each day. This process has another clock meanwhile.
	 * @param held says how much memory is in use.
	 */
	static async run(
		options: YearOptions,
		held: () => number,
		onDay: (day: SimulatedDay) => void,
	): Promise<void> {
		const scratch = await mkdtemp(join(tmpdir(), "tidemill-year-"));
		const { now } = Date;
		try {
			const year = new ShardYear(options, scratch, held);
			for (let day = 1; day <= options.days; day++)
				onDay(await year.#live(day));
		} finally {
			Date.now = now;
			await rm(scratch, { recursive: true });
		}
	}

	#start(): Archive {
		const store = this.#bucket;
		const { compaction, lists, limits, store: settings } = this.#settings;
		const log = this.#log;
		const tombstones = new Tombstones(store);
		const metrics = new ArchiveMetrics(
			new Registry(),
			() => [],
			async () => [],
		);
		const snapshots = new LedgerSnapshots(store, log);
		const ledger = new ShardLedger(0, snapshots, tombstones, log);
		const shard = {
			number: 0,
			get index() {
				return ledger.index;
			},
			lagSeconds: 0,
			isArchiving: true,
			isCurrent: async () => true,
			drainedAt: async () => undefined,
		};
		const shared = { store, tombstones, metrics, log };
		return {
			cuts: new CutStore(store),
			ledger,
			tombstones,
			compactor: new Compactor({
				...shared,
				...compaction,
				shards: [shard],
				maxLagSeconds: (2 * limits.maxAgeMs) / 1000 + 1,
				scratch: this.#scratch,
				openRewriter: async (folder) =>
					store.rewriter(folder, bytesOfEvent.body),
			}),
			lister: new Lister({
				...shared,
				replaced: new CompactionStore(store),
				...lists,
				bucket: settings.bucket,
				shards: [shard],
				objectsDone: async () => 0,
			}),
			retention: new RetentionKeeper({
				store,
				shards: [shard],
				publish: async () => undefined,
				metrics,
				log,
			}),
			released: new AddedLedgers({
				...shared,
				progress: async () => this.#progress,
			}),
		};
	}

	async #live(day: number): Promise<SimulatedDay> {
		const { wholeDay, restartOn, factor } = this.#options;
		const startMs = this.#startMs + (day - 1) * dayMs;
		const date = addDays("2026-01-01", day - 1);
		this.#nowMs = startMs;
		if (day === restartOn) await this.#restart();
		const stands = day === wholeDay ? 1 : factor;
		const perDay = cutsOfDay(this.#options, this.#settings.limits);
		const cuts = Math.round(perDay / stands);
		const work = this.#workOf(day);
		for (let cut = 0; cut < cuts; cut++) {
			const atMs = startMs + ((cut + 0.5) * dayMs) / cuts;
			for (; work[0] && startMs + work[0].atMs < atMs; work.shift()) {
				this.#nowMs = startMs + work[0].atMs;
				await this.#bucket.times(work[0].times, work[0].run);
			}
			this.#nowMs = Math.floor(atMs);
			await this.#cut(date, { stands, cuts });
			// What follows behind the cuts takes its turn.
			if (cut % 16 === 0) await nextTurn();
		}
		this.#requireRows(date, cuts);
		return this.#measure(day);
	}

	/** What a process does by the clock. What it does often is done a few times, and counts as often as in reality. */
	#workOf(day: number) {
		const { compaction, lists } = this.#settings;
		const { compactor, lister, retention, released, tombstones } =
			this.#archive;
		const compact = () => compactor.look(this.#nowMs, this.#signal);
		const list = async () => {
			await lister.look(this.#nowMs, this.#signal);
		};
		const context = {
			store: this.#bucket,
			tombstones,
			progress: async () => this.#progress,
			log: this.#log,
		} as unknown as LakeContext;
		const hourly = async () => {
			await retention.keep(this.#nowMs);
			await sweepDeleted(context, this.#signal);
			await released.publishAll(this.#signal);
			await lister.lookBack(this.#nowMs, this.#signal);
		};
		const often = [7, 13, 19];
		const timesOf = (intervalMs: number, once: number) =>
			Math.max(1, (dayMs / intervalMs - once) / often.length);
		const work = [
			{
				hour: 0.5,
				times: 1,
				run: async () => this.#bucket.expire(this.#nowMs),
			},
			{ hour: 1, times: 1, run: compact },
			{ hour: 1.2, times: 1, run: list },
			// It removes what was superseded a day before, and then sees that it is gone.
			{ hour: 3, times: 1, run: compact },
			{ hour: 3.2, times: 1, run: compact },
			{ hour: 4, times: 1, run: () => this.#runs(day) },
			{ hour: 5, times: 1, run: () => this.#replaceSource(day, context) },
			...often.flatMap((hour) => [
				{ hour, times: timesOf(compaction.intervalMs, 3), run: compact },
				{ hour, times: timesOf(lists.intervalMs, 1), run: list },
				{ hour, times: timesOf(hourMs, 0), run: hourly },
			]),
		];
		return work.map(({ hour, ...rest }) => ({ ...rest, atMs: hour * hourMs }));
	}

	/** As {@link ShardSession} carries out a cut. */
	async #cut(
		date: UtcDate,
		{ stands, cuts }: { stands: number; cuts: number },
	) {
		const bucket = this.#bucket;
		const { cuts: store, ledger, tombstones } = this.#archive;
		const refreshes = dayMs / cuts / tombstonesEveryMs;
		await bucket.times(Math.min(stands, refreshes), () => tombstones.refresh());
		const cut = this.#nextCut(date, cuts);
		await bucket.standing(stands, async () => {
			await store.decide(cut);
			for (const group of cut.groups)
				bucket.putEvents(
					bucket.keys.events(group, cut.stream, cut.first),
					group.rows,
				);
		});
		ledger.learn(cut);
		ledger.forgetDeleted();
		await bucket.times(stands, () => ledger.publish(this.#progress));
	}

	#rowsOfCut(cuts: number): number {
		const { eventsPerSecond, sources } = this.#options;
		return Math.max(1, Math.round((eventsPerSecond * 86_400) / sources / cuts));
	}

	#nextCut(date: UtcDate, cuts: number): CutRecord {
		const time = new Date(this.#nowMs).toISOString();
		const rows = this.#rowsOfCut(cuts);
		const first = this.#nextSequence;
		this.#nextSequence +=
			1 + Math.floor((rows * this.#options.sources) / eventsOfFrame);
		const mark = { id: `${receive}.${first}`, time };
		return {
			version: 1,
			stream: this.#stream,
			first,
			last: this.#nextSequence - 1,
			firstFrame: mark,
			lastFrame: mark,
			repeated: [],
			processes: {
				[receive]: { highest: first, holes: [], lastSeenMs: this.#nowMs },
			},
			groups: this.#sources.map((source) => ({
				...source,
				date,
				rows,
				lastEventTime: time,
			})),
		};
	}

	/** Each Run leaves its manifest, what it covers, its result and its log, for as long as events stay. */
	async #runs(day: number): Promise<void> {
		const { keys } = this.#bucket;
		for (const [number, { account }] of this.#sources.entries())
			for (let run = 0; run < runsOfSource; run++) {
				const uid = `${String(day).padStart(8, "0")}-${number}-${run}`;
				for (const key of [
					keys.run(uid),
					keys.runThrough(uid),
					keys.runResult(uid, 1),
					keys.log({ run: uid, account }),
				])
					await this.#bucket.put(key, "x".repeat(2_000));
			}
	}

	#newSource(): SourceName {
		const number = this.#sourcesMade++;
		return {
			account: `account-${number % 10}`,
			sourceKey: number.toString(16).padStart(32, "0"),
		};
	}

	async #replaceSource(day: number, context: LakeContext): Promise<void> {
		if (day % daysBetweenDeletions !== 0) return;
		const deleted = this.#sources.shift()!;
		const { tombstones, ledger } = this.#archive;
		await tombstones.add(deleted);
		ledger.forgetDeleted();
		await deleteSourceObjects(context, deleted, () => true);
		this.#sources.push(this.#newSource());
	}

	/** A new process learns all from the bucket. */
	async #restart(): Promise<void> {
		const before = JSON.stringify(this.#ledgers());
		this.#archive = this.#start();
		const { ledger, cuts, tombstones } = this.#archive;
		await tombstones.refresh();
		await ledger.begin();
		for await (const cut of cuts.ofShard(0, ledger.index.newestOfStream))
			ledger.learn(cut);
		const losses = new CutLossStore(
			this.#bucket,
			new CompactionStore(this.#bucket),
		);
		ledger.lose(await losses.ofShard(0));
		ledger.forgetDeleted();
		if (JSON.stringify(this.#ledgers()) !== before)
			throw new Error("After a restart the ledger is another one");
	}

	#ledgers() {
		return [...this.#archive.ledger.index.sources()]
			.map((source) => ledgerOf(source))
			.sort((a, b) => (a.sourceKey < b.sourceKey ? -1 : 1));
	}

	/** The date is what was cut of it, for each source that was there all day, and so is each earlier one. */
	#requireRows(date: UtcDate, cuts: number): void {
		for (const { sourceKey, archived, firstEventDate } of this.#ledgers()) {
			const expected = cuts * this.#rowsOfCut(cuts);
			if (firstEventDate === date || archived[date] === expected) continue;
			throw new Error(
				`The ledger of source ${sourceKey} has ${archived[date]} events of ${date}, and ${expected} were cut`,
			);
		}
	}

	#measure(day: number): SimulatedDay {
		const { factor, wholeDay } = this.#options;
		const whole = wholeDay && addDays("2026-01-01", wholeDay - 1);
		let indexed = 0;
		let left = 0;
		for (const { objects } of this.#archive.ledger.index.sources())
			for (const [date, { count, replaced }] of objects) {
				const held = count - (replaced ?? 0);
				// One that is held for an output stands for as many as there would be.
				const ofOutput = replaced && this.#bucket.outputStands;
				const stands = date === whole ? 1 : (ofOutput ?? factor);
				indexed += held * stands;
				left += held * (stands - 1);
			}
		const requests = this.#bucket.taken();
		const { objects, bytes: storedBytes } = this.#bucket.contents;
		const heapBytes = this.#held();
		return {
			day,
			heapBytes,
			wholeHeapBytes: heapBytes + left * this.#bytesOfIndexed,
			residentBytes: process.memoryUsage.rss() - this.#bucket.residentBytes,
			indexed,
			objects,
			storedBytes,
			requests,
			dollars: requestDollars(requests) + storageDollars(storedBytes),
		};
	}
}

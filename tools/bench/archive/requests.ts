import { randomBytes, randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream } from "@nats-io/jetstream";
import { Registry } from "prom-client";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import { CutLossStore } from "../../../ingest/archive/losses.ts";
import { cutSize } from "../../../ingest/archive/read/frame-queue.ts";
import { openShardStream } from "../../../ingest/archive/read/shard-stream.ts";
import { Shard } from "../../../ingest/archive/shard.ts";
import { ArchiveMetrics } from "../../../ingest/archive/write/archive-metrics.ts";
import { CutStore } from "../../../ingest/archive/write/cut-store.ts";
import { CutWriter } from "../../../ingest/archive/write/cut-writer.ts";
import { NatsProgress } from "../../../ingest/archive/write/nats-progress.ts";
import { Tombstones } from "../../../ingest/archive/write/tombstones.ts";
import { CompactionStore } from "../../../ingest/lake/compaction/record.ts";
import { ErasureStore } from "../../../ingest/lake/erasure/erasure-store.ts";
import { answerManifests } from "../../../ingest/lake/manifest/manifests.ts";
import type { LakeContext } from "../../../ingest/lake/request/context.ts";
import { LakeShard } from "../../../ingest/lake/request/lake-shard.ts";
import {
	encodeEvent,
	encodeFrameHead,
	frameId,
} from "../../../ingest/wire/frame.ts";
import { framesSubject } from "../../../packages/contracts/nats.ts";
import { addDays, utcDate } from "../../../packages/contracts/utc-date.ts";
import { FairLimit } from "../../../packages/fair/fair-limit.ts";
import { MemoryFileStore } from "../../../test/support/doubles/file-store.ts";
import {
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { type Requests, requestDollars } from "../year/bucket.ts";
import { type DataPlane, log, withDataPlane } from "./data-plane.ts";
import { keyOf, newEvents } from "./full-stream.ts";

const dayMs = 86_400_000;
/** Three cuts by age, so two whole minutes between them. */
const durationMs = 190_000;
/** Of the Job of a Run: its result, and the end of its log if that is long. */
const putsOfJob = 2;
/** Of each Source, whatever it costs else: a list for other readers every five minutes. */
const listsOfDay = 288;

/** One shard's traffic. */
interface Traffic {
	sources: number;
	eventsPerSecond: number;
	/** Each Source's Pipeline has a Run so often; undefined for no Runs. */
	runEveryMs?: number;
	/** Of the process. */
	shards: number;
}

const small = { sources: 1_000, eventsPerSecond: 1_000, shards: 1 };
/** One of ten shards with 50,000 events/s and 1,000 Sources together, four in a process. */
const large = { sources: 100, eventsPerSecond: 5_000, shards: 4 };

const runIntervalMs = 300_000;

/** What a store is asked for. The objects with events are counted, and forgotten. */
class CountingStore extends MemoryFileStore {
	readonly asked: {
		type: "put" | "get" | "list";
		atMs: number;
		key: string;
	}[] = [];

	override async putNew(key: string, body: Uint8Array | string) {
		this.#count("put", key);
		return super.putNew(key, /\.parquet$/.test(key) ? "" : body);
	}

	override get(key: string): Promise<string | undefined> {
		this.#count("get", key);
		return super.get(key);
	}

	override list(prefix: string, after?: string) {
		this.#count("list", prefix);
		return super.list(prefix, after);
	}

	override async putNewFile(key: string, file: string) {
		this.#count("put", key);
		return super.putNewFile(key, file);
	}

	override getFile(key: string, file: string): Promise<string | undefined> {
		this.#count("get", key);
		return super.getFile(key, file);
	}

	#count(type: "put" | "get" | "list", key: string): void {
		this.asked.push({ type, atMs: performance.now(), key });
	}
}

/**
 * S3's requests in a day, by three minutes of archive's own classes with a store that counts: 1,000 Sources in a shard with a Run
 * every five minutes each, and without Runs; and 50,000 events/s of 1,000 Sources in ten shards.
 */
export function requests(say: Say): Promise<Measurement[]> {
	return withDataPlane(1024 ** 3, async (plane) => {
		const [without, withRuns, busy] = await Promise.all([
			archive(plane, 0, small, say),
			archive(plane, 1, { ...small, runEveryMs: runIntervalMs }, say),
			archive(plane, 2, large, say),
		]);
		const [own, before] = [withRuns.ofDay, without.ofDay];
		const runsOfDay = (small.sources * dayMs) / runIntervalMs;
		const ofRun = (type: "get" | "list") =>
			(own[type] - before[type]) / runsOfDay;
		const dollars = 10 * requestDollars(busy.ofDay);
		return [
			compared("PUTs a day", "", own.put, before.put, { ratioAtMost: 2 }),
			compared(
				"dollars a day",
				"$",
				requestDollars(own),
				requestDollars(before),
			),
			figure("a Run: LISTs of archive", ofRun("list"), ""),
			figure("a Run: GETs of archive", ofRun("get"), ""),
			figure("50,000 events/s: PUTs a day", 10 * busy.ofDay.put, ""),
			figure("50,000 events/s: dollars a day", dollars, "$", { atMost: 60 }),
			figure("50,000 events/s: longest lag", busy.lagSeconds, "s", {
				atMost: 60,
			}),
		];
	});
}

async function archive(
	{ connection }: DataPlane,
	number: number,
	traffic: Traffic,
	say: Say,
): Promise<{ ofDay: Requests; lagSeconds: number }> {
	const stop = new AbortController();
	const { signal } = stop;
	const settings = { maxBytes: 1024 ** 3, replicas: 1, maxKeys: 1_000 };
	await openShardStream(connection, number, settings, log);
	const store = new CountingStore();
	const shards: Shard[] = [];
	const metrics = new ArchiveMetrics(
		new Registry(),
		() => shards,
		async () => [],
	);
	const tombstones = new Tombstones(store);
	const shard = new Shard({
		number,
		connection,
		cuts: new CutStore(store),
		losses: new CutLossStore(store, new CompactionStore(store)),
		snapshots: new LedgerSnapshots(store, log),
		writer: new CutWriter({ store, tombstones, metrics }),
		tombstones,
		limits: { ...cutSize(8 * 1024 ** 2, traffic.shards), maxAgeMs: 60_000 },
		stream: settings,
		checkStore: async () => {},
		metrics,
		log,
	});
	shards.push(shard);
	const context: LakeContext = {
		store: store as unknown as LakeContext["store"],
		tombstones,
		replaced: new CompactionStore(store),
		counted: new ErasureStore(store),
		metrics,
		authorities: () => undefined,
		reading: new FairLimit({ atOnce: 2 }),
		changing: new FairLimit({ atOnce: 1 }),
		progress: () => NatsProgress.open(connection, 1),
		scratch: tmpdir(),
		log,
	};
	const giveManifest = answerManifests(
		context,
		new LakeShard(connection, shard),
	);
	const running = shard.run(signal);
	const work = [publish(connection, number, traffic, signal)];
	let lagSeconds = 0;
	const every = async (intervalMs: number, act: (n: number) => void) => {
		for (let n = 0; !signal.aborted; n++) {
			act(n);
			await delay(intervalMs, undefined, { signal }).catch(() => undefined);
		}
	};
	work.push(
		every(100, () => {
			lagSeconds = Math.max(lagSeconds, shard.lagSeconds);
		}),
	);
	const { runEveryMs, sources } = traffic;
	const run = async (n: number) => {
		await giveManifest(
			{
				run: randomUUID(),
				account: "bench",
				sourceKey: keyOf(n % sources),
				extent: "Rest",
				start: addDays(utcDate(Date.now()), -1),
			},
			{ stopping: signal },
		);
	};
	const runs: Promise<void>[] = [];
	if (runEveryMs !== undefined)
		work.push(every(runEveryMs / sources, (n) => void runs.push(run(n))));
	await delay(durationMs);
	await Promise.all(runs);
	stop.abort(new Error("over"));
	await Promise.all([running, ...work]);
	// The ledgers of many Sources follow behind their cut.
	await delay(sources * 15);
	const cuts = store.asked.filter(
		({ type, key }) => type === "put" && key.startsWith("cuts/"),
	);
	const [from, to] = [cuts[0]!.atMs, cuts.at(-1)!.atMs];
	const asked = store.asked.filter(({ atMs }) => atMs > from && atMs <= to);
	const of = (wanted: "put" | "get" | "list") =>
		asked.filter(({ type }) => type === wanted);
	const kinds = Map.groupBy(of("put"), ({ key }) => key.split("/")[0]!);
	const runsIn = kinds.get("runs")?.length ?? 0;
	const counted = [...kinds].map(([kind, { length }]) => `${kind} ${length}`);
	say(`shard ${number}, ${Math.round(to - from)} ms: ${counted.join(", ")}`);
	// Two of archive's own are for each Run: what its manifest has, and the manifest.
	const perDay = (count: number) => Math.round((count * dayMs) / (to - from));
	const events = (kinds.get("events") ?? []).length;
	return {
		ofDay: {
			put:
				perDay(of("put").length + (runsIn / 2) * putsOfJob) +
				sources * listsOfDay,
			// Compaction reads each object.
			get: perDay(of("get").length + events),
			list: perDay(of("list").length),
			delete: 0,
		},
		lagSeconds,
	};
}

async function publish(
	connection: DataPlane["connection"],
	shard: number,
	{ sources, eventsPerSecond }: Traffic,
	signal: AbortSignal,
): Promise<void> {
	const process = randomBytes(16).toString("hex");
	const client = jetstream(connection);
	const count = 100;
	const startMs = performance.now();
	for (let number = 1; !signal.aborted; number++) {
		const events = newEvents(count).map((event, index) => ({
			...event,
			sourceKey: keyOf(((number - 1) * count + index) % sources),
		}));
		const head = encodeFrameHead(process, number, [], count);
		await client.publish(
			framesSubject(shard),
			Buffer.concat([head, ...events.flatMap(encodeEvent)]),
			{ msgID: frameId(process, number) },
		);
		const dueMs = startMs + (number * count * 1_000) / eventsPerSecond;
		await delay(Math.max(0, dueMs - performance.now()));
	}
}

import { tmpdir } from "node:os";
// prom-client: see archive-metrics.ts.
import { Registry } from "prom-client";
import type { CutRecord } from "../../../ingest/archive/decide/cut.ts";
import { LedgerIndex } from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import { ArchiveMetrics } from "../../../ingest/archive/write/archive-metrics.ts";
import { Tombstones } from "../../../ingest/archive/write/tombstones.ts";
import { Compactor } from "../../../ingest/lake/compaction/compactor.ts";
import type { CompactionRecord } from "../../../ingest/lake/compaction/record.ts";
import { RetentionKeeper } from "../../../ingest/lake/retention/retention-keeper.ts";
import { streamName } from "../../../packages/contracts/nats.ts";
import {
	addDays,
	datesBetween,
	dayMs,
	startOfDate,
} from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import {
	type Bench,
	figure,
	type Measurement,
	requireGoal,
} from "../measure/measurement.ts";
import { type Requests, YearBucket } from "../year/bucket.ts";

const mib = 1024 ** 2;
const today = "2026-06-01";
const todayMs = startOfDate(today) + dayMs / 2;
const [shards, ownShards] = [10, [0, 1]];
/** Of all shards, as after ten days of 50,000 events/s in cuts of 8 MiB. They have expired at once: what a long stop leaves. */
const cutRecords = Number(process.env.BENCH_RECORDS ?? 3_500_000);
/** Of one shard: each has one record of a compaction for each of the last dates. */
const [sources, dates] = [1_000, 30];
const deletedSources = 200_000;
const objectsOfRuns = 1_500_000;
/** A collection takes longer than a removal. */
const removalsBetween = 50;
const log = createLog("bench");
log.level = "warn";

/** What archive reads of a bucket by the clock and at a start, with as many keys as have once been too many. */
export const bench: Bench = {
	about: `a start and an hour of an archive whose bucket has ${cutRecords} expired cut records of ${shards} shards, ${sources * dates} compactions, ${deletedSources} deleted Sources and ${objectsOfRuns} objects of Runs`,
	async run(say) {
		const { now } = Date;
		try {
			const measurements = await retention();
			say("retention");
			measurements.push(...(await compactions()));
			say("compactions");
			measurements.push(...(await deletions()));
			for (const measured of measurements) requireGoal(measured, say);
			return measurements;
		} finally {
			Date.now = now;
		}
	},
};

/** Says how much memory was in use at most, after collections, while objects were removed: a page of keys is held then. */
class WatchedBucket extends YearBucket {
	mostBytes = 0;
	#removals = 0;

	constructor() {
		super(1);
	}

	override async remove(keys: readonly string[]): Promise<void> {
		await super.remove(keys);
		if (this.#removals++ % removalsBetween !== 0) return;
		this.mostBytes = Math.max(this.mostBytes, heldBytes());
	}

	/** Writes what was there so many days ago. */
	async fill(daysAgo: number, keys: Iterable<string>): Promise<void> {
		Date.now = () => todayMs - daysAgo * dayMs;
		for (const key of keys) await this.putNew(key, "{}");
		Date.now = () => todayMs;
		this.taken();
	}
}

function* numbered(
	count: number,
	keyOf: (number: number) => string,
): Generator<string> {
	for (let number = 1; number <= count; number++) yield keyOf(number);
}

const ageOfRecords = 60;

async function retention(): Promise<Measurement[]> {
	const store = new WatchedBucket();
	const { keys } = store;
	for (let ago = 2 * ageOfRecords; ago >= 0; ago--)
		await store.fill(ago, [keys.day(addDays(today, -ago))]);
	const ofShard = cutRecords / shards;
	for (let shard = 0; shard < shards; shard++) {
		const stream = streamName(shard, "0123456789abcdef");
		await store.fill(
			ageOfRecords,
			numbered(ofShard, (number) => keys.cut(stream, number)),
		);
	}
	await store.fill(
		1,
		numbered(objectsOfRuns, (number) => keys.run(`${number}`)),
	);
	const keeper = new RetentionKeeper({
		store,
		shards: ownShards.map((number) => ({
			number,
			isArchiving: true,
			index: new LedgerIndex(),
			drainedAt: async () => undefined,
		})),
		metrics: newMetrics(),
		log,
	});
	const before = heldBytes();
	const { took, requests } = await measured(store, () => keeper.keep(todayMs));
	const expired = ownShards.length * ofShard;
	const leftOf = async (shard: number) =>
		(await Array.fromAsync(store.list(keys.cutsOfShard(shard)))).length;
	const own = await Promise.all(ownShards.map(leftOf));
	const others = await leftOf(shards - 1);
	const again = await measured(store, () => keeper.keep(todayMs));
	return [
		figure(
			"retention: most memory beyond what was before",
			(store.mostBytes - before) / mib,
			"MiB",
			{ atMost: 16 },
		),
		figure("retention: cut records of an own shard that stay", own, "", {
			atMost: 1,
		}),
		figure("retention: those of another's", others, "", { atLeast: ofShard }),
		figure("retention: LISTs of the hour", requests.list, "", {
			atMost: expired / 1_000 + objectsOfRuns / 1_000 + 200,
		}),
		figure("retention: LISTs of the next hour", again.requests.list, "", {
			atMost: objectsOfRuns / 1_000 + 200,
		}),
		figure("retention: time of the hour", took, "s"),
	];
}

async function compactions(): Promise<Measurement[]> {
	const store = new WatchedBucket();
	const { keys } = store;
	const stream = streamName(0, "0123456789abcdef");
	const all = Array.from({ length: sources }, (_, source) => ({
		account: `account-${source % 50}`,
		sourceKey: source.toString(16).padStart(32, "0"),
	}));
	const index = new LedgerIndex(() => todayMs);
	const days = datesBetween(addDays(today, -dates), today);
	for (const [day, date] of days.entries()) {
		for (const half of [1, 2]) {
			const cut = cutOf(stream, 2 * day + half, date, all);
			index.add(cut);
			await store.fill(days.length - 1 - day, [keys.cut(stream, cut.first)]);
		}
		if (date === today) break;
		Date.now = () => startOfDate(addDays(date, 1)) + dayMs / 8;
		for (const source of all) {
			const folder = { ...source, date };
			await store.putNew(
				keys.compaction(folder),
				JSON.stringify(recordOf(keys, folder, stream, 2 * day + 1)),
			);
		}
	}
	Date.now = () => todayMs;
	const start = (of: LedgerIndex, isArchiving = true) => {
		const compactor = new Compactor({
			store,
			shards: [{ number: 0, index: of, isArchiving, lagSeconds: 0 }],
			minObjects: 2,
			intervalMs: 600_000,
			maxLagSeconds: 121,
			scratch: tmpdir(),
			tombstones: new Tombstones(store),
			metrics: newMetrics(),
			log,
		});
		const { signal } = new AbortController();
		return measured(store, () => compactor.look(todayMs, signal));
	};
	store.taken();
	const standby = await start(index, false);
	const first = await start(index);
	const snapshots = new LedgerSnapshots(store, log);
	await snapshots.write(0, index);
	const restored = (await snapshots.newest(0))!;
	store.taken();
	const again = await start(restored);
	const sum = ({ put, get, list }: Requests) => put + get + list;
	return [
		figure(
			"compactions: requests of one that stands by",
			sum(standby.requests),
			"",
			{
				atMost: 0,
			},
		),
		figure("compactions: requests of the first look", sum(first.requests), ""),
		figure("compactions: time of the first look", first.took, "s"),
		// Those that readers may still follow are checked on the next day.
		figure(
			"compactions: requests of a restart's look",
			sum(again.requests),
			"",
			{
				atMost: 1.1 * sources,
			},
		),
		figure("compactions: time of a restart's look", again.took, "s"),
	];
}

async function deletions(): Promise<Measurement[]> {
	const store = new WatchedBucket();
	const { keys } = store;
	await store.fill(
		ageOfRecords,
		numbered(deletedSources, (number) =>
			keys.tombstone({
				account: `account-${number % 50}`,
				sourceKey: number.toString(16).padStart(32, "0"),
			}),
		),
	);
	const before = heldBytes();
	const tombstones = new Tombstones(store);
	const first = await measured(store, () => tombstones.refresh());
	const held = heldBytes() - before;
	const again = await measured(store, () => tombstones.refresh());
	return [
		figure("deleted Sources: LISTs of a start", first.requests.list, "", {
			atMost: deletedSources / 1_000 + 5,
		}),
		figure(
			"deleted Sources: requests of each later look",
			again.requests.list,
			"",
			{
				atMost: 2,
			},
		),
		figure("deleted Sources: memory of each", held / tombstones.count, "bytes"),
	];
}

async function measured(
	store: YearBucket,
	work: () => Promise<unknown>,
): Promise<{ took: number; requests: Requests }> {
	store.taken();
	const startedMs = performance.now();
	await work();
	const took = (performance.now() - startedMs) / 1_000;
	return { took, requests: store.taken() };
}

function newMetrics(): ArchiveMetrics {
	return new ArchiveMetrics(
		new Registry(),
		() => [],
		async () => [],
	);
}

function cutOf(
	stream: string,
	first: number,
	date: string,
	all: readonly { account: string; sourceKey: string }[],
): CutRecord {
	const time = new Date(startOfDate(date) + (first % 2) * 1_000).toISOString();
	const mark = { id: "x", time };
	return {
		version: 1,
		...{ stream, first, last: first },
		...{ firstFrame: mark, lastFrame: mark },
		...{ repeated: [], processes: {} },
		groups: all.map((source) => ({
			...source,
			...{ date, rows: 1, lastEventTime: time },
		})),
	};
}

/** Of the two cuts of a date. */
function recordOf(
	keys: YearBucket["keys"],
	folder: { account: string; sourceKey: string; date: string },
	stream: string,
	first: number,
): CompactionRecord {
	const folderKey = keys.eventsOfDate(folder);
	const inputs = [first, first + 1].map((each) =>
		keys.events(folder, stream, each).slice(folderKey.length),
	);
	const name = `compacted-${"0".repeat(32)}.parquet`;
	const sizes = { rows: 2, bytes: 1, sha256: "0".repeat(64) };
	return {
		version: 1,
		...folder,
		outputs: [
			{
				name,
				...sizes,
				inputs,
				inputTimes: [
					[0, 0],
					[0, 0],
				],
			},
		],
	};
}

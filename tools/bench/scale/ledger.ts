import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { CutRecord } from "../../../ingest/archive/decide/cut.ts";
import {
	LedgerIndex,
	ledgerOf,
} from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import type { ObjectStore } from "../../../ingest/archive/s3/object-store.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import type { BusyShardFigures } from "./busy-shard.ts";
import { FileStore } from "./file-store.ts";

const [few, many] = [1_000, 10_000];
const days = 365;
/** Of each Source, on the days that the ledger still knows at the end. Before, it has one a day. */
const cutsOfDay = Number(process.env.BENCH_CUTS ?? 4);
const knownDays = 40;

/** A year of many Sources in one shard's ledger, and a month of a busy one. */
export const bench: Bench = {
	about: `the ledger of one shard after a year of ${many} Sources, with ${cutsOfDay} objects a day each in the last ${knownDays} days; baseline: ${few} Sources. And a month of a shard with 200 Sources and 20,000 events/s (tools/bench/scale/busy-shard.ts)`,
	async run(say) {
		const small = await yearOf(few);
		say(`a year of ${few} Sources`);
		const large = await yearOf(many);
		say(`a year of ${many} Sources`);
		return [
			figure("memory", large.bytes / 1024 ** 2, "MiB"),
			figure("objects held", large.objects, ""),
			compared(
				"memory of a Source",
				"bytes",
				large.bytes / many,
				small.bytes / few,
			),
			compared(
				"CPU of an object, with its Source's ledger",
				"µs",
				large.objectUs,
				small.objectUs,
			),
			figure("snapshot", large.snapshotBytes / 1024 ** 2, "MiB"),
			figure("CPU to write the snapshot", large.writeMs, "ms"),
			figure("CPU to read it", large.readMs, "ms"),
			...(await busyMonth(say)),
		];
	},
};

const mib = 1024 ** 2;

/** In its own process, which has archive's memory and nothing else. */
async function busyMonth(say: Say): Promise<Measurement[]> {
	const script = new URL("busy-shard.ts", import.meta.url).pathname;
	const child = spawn(process.execPath, [script], {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, ...processEnvironment.archive },
	});
	const printed = await text(child.stdout);
	const month: BusyShardFigures = JSON.parse(printed);
	say(`a month of a busy shard: its counts are ${month.counts}`);
	const { blockedMs, snapshot, written } = month;
	const longest = (metric: string, ms: number) =>
		figure(`longest turn of the event loop: ${metric}`, ms, "ms of CPU", {
			atMost: 50,
		});
	return [
		figure("busy shard: objects archived", month.objectsArchived, ""),
		figure("objects held at the end of a day", month.objectsHeld, ""),
		figure("memory on the last day", month.heldBytes.at(-1)! / mib, "MiB", {
			atMost: 300,
		}),
		figure("memory on the second day", month.heldBytes[1]! / mib, "MiB"),
		figure("most resident memory", month.peakResidentBytes / mib, "MiB", {
			atMost: 300,
		}),
		longest("a cut", blockedMs.cut),
		longest("a compaction's record is written", blockedMs.deciding),
		longest("a compacted date", blockedMs.replacing),
		longest("a snapshot", blockedMs.writing),
		longest("a start", blockedMs.reading),
		figure("start", month.startMs / 1_000, "s", { atMost: 10 }),
		figure("newest snapshots in the bucket", snapshot.bytes / mib, "MiB"),
		figure("largest object of a snapshot", snapshot.mostBytes / mib, "MiB"),
		figure("objects of snapshots written in a day", written.objects, ""),
		figure("bytes of snapshots written in a day", written.bytes / mib, "MiB"),
		figure("counts that differ", month.counts === "equal" ? 0 : 1, "", {
			atMost: 0,
		}),
	];
}

async function yearOf(sources: number) {
	const before = heldBytes();
	const index = new LedgerIndex();
	let objectUs = 0;
	for (let day = 0; day < days; day++) {
		const cuts = day < days - knownDays ? 1 : cutsOfDay;
		const records = Array.from({ length: cuts }, (_, cut) =>
			cutOf(day * cutsOfDay + cut, sources),
		);
		const last = day === days - 1;
		const startedUs = cpuUs();
		for (const record of records) {
			index.add(record);
			if (!last) continue;
			// Archive publishes them after each cut.
			for (const { account, sourceKey } of record.groups)
				ledgerOf(index.source(account, sourceKey)!);
		}
		if (last) objectUs = (cpuUs() - startedUs) / (sources * cutsOfDay);
	}
	const bytes = heldBytes() - before;
	let objects = 0;
	for (const source of index.sources())
		for (const { count } of source.objects.values()) objects += count;

	const folder = await mkdtemp(join(tmpdir(), "tidemill-bench-ledger-"));
	const store = new FileStore(folder);
	const snapshots = new LedgerSnapshots(
		store as unknown as ObjectStore,
		createLog("bench"),
	);
	let startedUs = cpuUs();
	await snapshots.write(0, index);
	const writeMs = (cpuUs() - startedUs) / 1000;
	startedUs = cpuUs();
	await snapshots.newest(0);
	const readMs = (cpuUs() - startedUs) / 1000;
	await rm(folder, { recursive: true });
	return {
		bytes,
		objects,
		objectUs,
		writeMs,
		readMs,
		snapshotBytes: store.written.bytes,
	};
}

function cpuUs(): number {
	const { user, system } = process.cpuUsage();
	return user + system;
}

function cutOf(number: number, sources: number): CutRecord {
	const time = new Date(Date.UTC(2026, 0, 1) + (number * dayMs) / cutsOfDay);
	const mark = { id: "x", time: time.toISOString() };
	return {
		version: 1,
		stream: "tidemill-frames-0-0123456789abcdef",
		first: number * 30_000 + 1,
		last: (number + 1) * 30_000,
		firstFrame: mark,
		lastFrame: mark,
		repeated: [],
		processes: {},
		groups: Array.from({ length: sources }, (_, source) => ({
			account: `account-${source % 50}`,
			sourceKey: `${source}`.padStart(32, "0"),
			date: mark.time.slice(0, 10),
			rows: 60 + (source % 1_000),
			lastEventTime: mark.time,
		})),
	};
}

import type { CutRecord } from "../../../ingest/archive/decide/cut.ts";
import {
	LedgerIndex,
	ledgerOf,
} from "../../../ingest/archive/ledger/ledger-index.ts";
import { LedgerSnapshots } from "../../../ingest/archive/ledger/ledger-snapshots.ts";
import { ObjectKeys } from "../../../ingest/archive/s3/object-keys.ts";
import type { ObjectStore } from "../../../ingest/archive/s3/object-store.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { createLog } from "../../../packages/service/log.ts";
import { heldBytes } from "../measure/held-bytes.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";

const [few, many] = [1_000, 10_000];
const days = 365;
/** Of each Source, on the days that the ledger still knows at the end. Before, it has one a day. */
const cutsOfDay = Number(process.env.BENCH_CUTS ?? 4);
const knownDays = 40;

/** A year of many Sources in one shard's ledger. */
export const bench: Bench = {
	about: `the ledger of one shard after a year of ${many} Sources, with ${cutsOfDay} objects a day each in the last ${knownDays} days; baseline: ${few} Sources`,
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
		];
	},
};

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

	const stored = new Map<string, string>();
	const snapshots = new LedgerSnapshots(storeIn(stored), createLog("bench"));
	let startedUs = cpuUs();
	await snapshots.write(0, index);
	const writeMs = (cpuUs() - startedUs) / 1000;
	startedUs = cpuUs();
	await snapshots.newest(0);
	const readMs = (cpuUs() - startedUs) / 1000;
	const [text = ""] = stored.values();
	return {
		bytes,
		objects,
		objectUs,
		writeMs,
		readMs,
		snapshotBytes: text.length,
	};
}

function cpuUs(): number {
	const { user, system } = process.cpuUsage();
	return user + system;
}

function storeIn(stored: Map<string, string>): ObjectStore {
	return {
		keys: new ObjectKeys("bench"),
		putNew: async (key: string, text: string) => {
			stored.set(key, text);
			return "created";
		},
		get: async (key: string) => stored.get(key),
		remove: async () => undefined,
		async *list() {
			for (const key of stored.keys()) yield { key };
		},
	} as unknown as ObjectStore;
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

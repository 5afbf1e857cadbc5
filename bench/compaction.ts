import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { Manifest, ManifestDate } from "../contracts/manifest.ts";
import {
	addDays,
	datesBetween,
	dayMs,
	utcDate,
} from "../contracts/utc-date.ts";
import { rowGroupSize } from "../ingest/archive/compaction/output-size.ts";
import type { IndexedObject } from "../ingest/archive/ledger/ledger-index.ts";
import { ManifestObjects } from "../ingest/archive/manifest/manifest-objects.ts";
import { ObjectKeys } from "../ingest/archive/store/object-keys.ts";
import type { ObjectStoreSettings } from "../ingest/archive/store/s3-client.ts";
import { S3ObjectStore } from "../ingest/archive/store/s3-object-store.ts";
import { archiveNodeOptions } from "../local/roles.ts";
import { startS3, type TestS3 } from "../test/servers.ts";
import { accessStore } from "../test/store-access.ts";
import { temporaryDirectory } from "../test/test-server.ts";
import type { CompactionWork } from "./compaction-process.ts";
import { type Cost, costOf, load } from "./load-process.ts";
import { type Bench, median } from "./measurement.ts";

/** The whole month: `BENCH_DAYS=30 make bench ONLY=compaction`. */
const days = Number(process.env.BENCH_DAYS ?? 1);
const objectsOfDay = 24 * 60;
const rowsOfObject = 50;
const rowsOfDay = objectsOfDay * rowsOfObject;
const bodyBytes = 500;
/** As in what a compaction writes: what a load needs of memory depends on it. */
const rowsOfGroup = rowGroupSize({
	objects: 1,
	rows: rowsOfDay,
	bytes: rowsOfDay * bodyBytes,
});
const rounds = 3;
const source = { account: "bench", sourceKey: "5a".repeat(16) };
const stream = "tidemill-frames-0-0123456789abcdef";
const last = addDays(utcDate(Date.now()), -2);
const dates = datesBetween(addDays(last, 1 - days), last);

/** A Run over objects of a cut a minute, before and after their compaction, against one over a single object. */
export const bench: Bench = {
	about: `loading ${days} ${days === 1 ? "day" : "days"} of a cut a minute, ${rowsOfObject} events of ${bodyBytes} bytes in each, before and after compaction; baseline: one object with all the rows`,
	async run(say) {
		const s3 = await startS3();
		const directory = await temporaryDirectory("bench-compaction");
		try {
			const settings = accessStore(s3);
			const store = new S3ObjectStore(settings, new AbortController().signal);
			const keys = new ObjectKeys("");
			const lake = { store, keys };
			const single = await writeObjects(s3, keys);
			const objects = days * objectsOfDay;
			say(`stored ${objects} objects, and one with the same rows`);
			const run = async (manifest: Manifest) => {
				const path = "bench.duckdb";
				const cost = await load(manifest, { type: "DuckDB", path }, directory);
				await rm(join(directory, path));
				return cost.seconds;
			};
			const of = await singleManifest(store, single);
			const before = await manifestOf(lake);
			const secondsBefore = await run(before);
			say(`before compaction: ${secondsBefore.toFixed(1)} s`);
			const compaction = await compact(settings, directory);
			say(`compacted in ${compaction.seconds.toFixed(1)} s`);
			const after = await manifestOf(lake);
			const [alone, afterwards]: [number[], number[]] = [[], []];
			// Alternating runs, so that a machine that slows down slows both.
			for (let round = 1; round <= rounds; round++) {
				alone.push(await run(of));
				afterwards.push(await run(after));
				say(
					`round ${round} of ${rounds}: one object ${alone.at(-1)!.toFixed(1)} s, compacted ${afterwards.at(-1)!.toFixed(1)} s`,
				);
			}
			const baseline = median(alone);
			const against = (metric: string, value: number) => ({
				metric,
				value,
				unit: "s",
				baseline,
				ratio: value / baseline,
			});
			return [
				{ metric: "objects before", value: countOf(before), unit: "objects" },
				{ metric: "objects after", value: countOf(after), unit: "objects" },
				against("load before", secondsBefore),
				against("load after", median(afterwards)),
				{ metric: "compaction", value: compaction.seconds, unit: "s" },
				{
					metric: "peak memory of it",
					value: compaction.peakBytes / 1024 ** 2,
					unit: "MiB",
				},
				{
					metric: "bytes before",
					value: bytesOf(before) / 1e6,
					unit: "MB",
				},
				{ metric: "bytes after", value: bytesOf(after) / 1e6, unit: "MB" },
			];
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

/** The ledger's objects of a date. */
function objectsOf(): IndexedObject[] {
	return Array.from({ length: objectsOfDay }, (_, first) => ({
		stream,
		first,
		rows: rowsOfObject,
	}));
}

/** Puts the files where the gateway keeps its objects. Returns the key of the one with all rows. */
async function writeObjects(s3: TestS3, keys: ObjectKeys): Promise<string> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const filler = "x".repeat(bodyBytes - 256 - 28);
	const rows = (date: string, from: number, to: number) =>
		`SELECT uuid()::VARCHAR AS event_id, TIMESTAMPTZ '${date} 00:00:00+00' + to_milliseconds((i * ${dayMs / rowsOfDay})::BIGINT % ${dayMs}) AS timestamp, DATE '${date}' AS date,
			format('{{"n":{:09d},"a":"${filler}","b":"{}"}}', i, sha256(i::VARCHAR) || sha256(i::VARCHAR || 'a') || sha256(i::VARCHAR || 'b') || sha256(i::VARCHAR || 'c')) AS body,
			'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
		FROM range(${from}, ${to}) t(i)`;
	const write = async (key: string, date: string, from: number, to: number) => {
		const file = join(s3.bucketDirectory, key);
		await mkdir(dirname(file), { recursive: true });
		await connection.run(
			`COPY (${rows(date, from, to)}) TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowsOfGroup})`,
		);
	};
	try {
		for (const date of dates)
			for (const { first } of objectsOf()) {
				const from = first * rowsOfObject;
				const key = keys.events({ ...source, date }, stream, first);
				await write(key, date, from, from + rowsOfObject);
			}
		// In a table, all rows have the date of the folder that they were loaded for.
		await write("single.parquet", dates[0]!, 0, days * rowsOfDay);
		return "single.parquet";
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

interface Lake {
	store: S3ObjectStore;
	keys: ObjectKeys;
}

async function manifestOf({ store, keys }: Lake): Promise<Manifest> {
	const objects = new ManifestObjects(store, keys);
	const found: ManifestDate[] = [];
	for (const date of dates)
		found.push(await objects.ofDate({ ...source, date }, objectsOf, 3600));
	return manifest(found);
}

async function singleManifest(
	store: S3ObjectStore,
	key: string,
): Promise<Manifest> {
	const rows = days * rowsOfDay;
	for await (const { bytes } of store.list(key)) {
		const url = await store.presign(key, 3600);
		const objects = [{ key, url, rows, bytes }];
		return manifest([{ date: dates[0]!, rows, objects }]);
	}
	throw new Error(`${key} is not there`);
}

function manifest(found: ManifestDate[]): Manifest {
	return {
		version: 1,
		run: "",
		...source,
		snapshotTime: new Date().toISOString(),
		closedThrough: last,
		expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
		dates: found,
	};
}

/** Of a process that compacts all dates, as archive's would that starts after a month; with its start. */
async function compact(
	settings: ObjectStoreSettings,
	directory: string,
): Promise<Cost> {
	const work: CompactionWork = {
		settings,
		dates: dates.map((date) => ({ ...source, date, objects: objectsOf() })),
	};
	const file = join(directory, "work.json");
	await writeFile(file, JSON.stringify(work));
	const script = new URL("compaction-process.ts", import.meta.url).pathname;
	return costOf(
		spawn(process.execPath, [script, file], {
			stdio: "inherit",
			env: { ...process.env, NODE_OPTIONS: archiveNodeOptions },
		}),
	);
}

function countOf({ dates: found }: Manifest): number {
	return found.flatMap(({ objects }) => objects).length;
}

function bytesOf({ dates: found }: Manifest): number {
	return found
		.flatMap(({ objects }) => objects)
		.reduce((sum, { bytes }) => sum + bytes, 0);
}

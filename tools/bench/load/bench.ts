import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type {
	Manifest,
	ManifestDate,
} from "../../../packages/contracts/manifest.ts";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import { startBigQueryDouble } from "../../../test/support/doubles/bigquery/server.ts";
import { startS3, type TestS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import {
	type Bench,
	compared,
	figure,
	type Goal,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import { costOf, type ProcessCost } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { bodyBytes, writeEventObject } from "./event-objects.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";

/** BENCH_EVENTS=10000000 shows that memory doesn't grow with the number of events. */
const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const days = 10;

/** A Run's process from start to end, against a DuckDB process that reads the same files from disk. */
export const bench: Bench = {
	about: `loading ${events} events of ${bodyBytes} bytes from S3, all checks included; baseline: DuckDB alone reading the same Parquet files from disk, checking nothing`,
	async run(say) {
		const directory = await temporaryDirectory("bench-load");
		const s3 = await startS3();
		try {
			const objects = join(directory, "objects");
			await mkdir(objects);
			await writeObjects(objects);
			const manifest = await upload(objects, s3);
			const bytes = manifest.dates
				.flatMap((day) => day.objects)
				.reduce((sum, object) => sum + object.bytes, 0);
			say(`uploaded ${days} objects, ${megabytes(bytes)} MB in total`);
			const duckDB = await compareDuckDB(manifest, objects, directory, say);
			return [
				...duckDB,
				...(await measureBigQuery(manifest, bytes, directory)),
			];
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

async function compareDuckDB(
	manifest: Manifest,
	objects: string,
	directory: string,
	say: Say,
): Promise<Measurement[]> {
	const script = new URL("duckdb-alone.ts", import.meta.url).pathname;
	const { load: loads, DuckDB } = await alternate(
		`${events} events`,
		{
			DuckDB: async () => {
				const file = join(directory, "alone.duckdb");
				const alone = spawn(process.execPath, [script, file, objects]);
				return costOf(alone).finally(() => rm(file, { force: true }));
			},
			load: async () => {
				const path = "load.duckdb";
				const loaded = load(manifest, { type: "DuckDB", path }, directory);
				return loaded.finally(() => rm(join(directory, path), { force: true }));
			},
		},
		{
			count: roundsOf(events > 1_000_000 ? 3 : 7),
			say,
			text: ({ seconds }) => `${seconds.toFixed(2)} s`,
		},
	);
	const against = (
		metric: string,
		unit: string,
		goal: Goal,
		of: (cost: ProcessCost) => number,
	) => compared(metric, unit, loads.map(of), DuckDB.map(of), goal);
	const ratioAtMost = events > 1_000_000 ? 0.95 : 1;
	return [
		against("time into DuckDB", "s", { ratioAtMost }, ({ seconds }) => seconds),
		against("peak memory into DuckDB", "MB", { atMost: 450 }, ({ peakBytes }) =>
			megabytes(peakBytes),
		),
	];
}

async function measureBigQuery(
	manifest: Manifest,
	bytes: number,
	directory: string,
): Promise<Measurement[]> {
	const double = await startBigQueryDouble();
	try {
		await double.warehouse.createDataset("bench", "EU");
		const key = join(directory, "key.json");
		await writeFile(key, double.keyJson);
		const { seconds, peakBytes } = await load(
			manifest,
			{
				type: "BigQuery",
				projectId: double.projectId,
				dataset: "bench",
				location: "EU",
				createDataset: false,
				apiEndpoint: double.endpoint,
			},
			directory,
			{ env: { GOOGLE_APPLICATION_CREDENTIALS: key } },
		);
		return [
			figure("to the double for BigQuery", megabytes(bytes) / seconds, "MB/s"),
			figure("peak memory to it", megabytes(peakBytes), "MB"),
		];
	} finally {
		await double.close();
	}
}

/** One object a day. */
async function writeObjects(directory: string): Promise<void> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const perDay = events / days;
	for (let day = 0; day < days; day++) {
		const date = addDays("2026-03-01", day);
		const [from, to] = [perDay * day, perDay * (day + 1)];
		const file = join(directory, `${date}.parquet`);
		const rows = { date, from, to, stepMs: 8 };
		await writeEventObject(connection, file, rows, 20_480);
	}
	connection.closeSync();
	instance.closeSync();
}

async function upload(directory: string, s3: TestS3): Promise<Manifest> {
	const dates: ManifestDate[] = [];
	const upload = new ObjectUpload(s3);
	for (let day = 0; day < days; day++) {
		const date = addDays("2026-03-01", day);
		const file = join(directory, `${date}.parquet`);
		const rows = events / days;
		const object = await upload.put(file, rows);
		dates.push({ date, rows, objects: [object] });
	}
	upload.close();
	return manifestOf(dates);
}

function megabytes(bytes: number): number {
	return Math.round(bytes / 1e6);
}

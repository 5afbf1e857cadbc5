import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { startPostgres } from "../../../test/support/servers/postgres.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import {
	type Bench,
	figure,
	type Measurement,
	type Say,
} from "../measure/measurement.ts";
import type { ProcessCost } from "../measure/process-cost.ts";
import { partsOf, roundsOf } from "../measure/rounds.ts";
import { bodyBytes, writeEventObject } from "./event-objects.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";
import { loadInto } from "./postgres.ts";

const events = Number(process.env.BENCH_EVENTS ?? 10_000_000);
const minutes = 1_440;
const rounds = roundsOf(5);
const date = "2026-03-01";
const perMinute = Math.floor(events / minutes);

/** A scheduled Run of a minute's events into a day that the table holds but for them, beside the first Run of that day. */
export const bench: Bench = {
	about: `a scheduled Run of one new minute in a day of ${events} events of ${bodyBytes} bytes, a cut a minute, into DuckDB and Postgres`,
	async run(say) {
		const directory = await temporaryDirectory("bench-minute");
		const s3 = await startS3();
		try {
			const files = await writeMinutes(join(directory, "objects"), say);
			const objects: ManifestObject[] = [];
			const upload = new ObjectUpload(s3);
			for (const file of files) objects.push(await upload.put(file, perMinute));
			upload.close();
			say(`uploaded ${objects.length} objects`);
			const daysOf = (count: number) =>
				manifestOf([
					{ date, rows: count * perMinute, objects: objects.slice(0, count) },
				]);
			const measures = {
				duckdb: () =>
					minutesInto("DuckDB", 0.5, say, (count) =>
						load(
							daysOf(count),
							{ type: "DuckDB", path: "day.duckdb" },
							directory,
							{ input: { adds: true } },
						),
					),
				async postgres() {
					const server = await startPostgres({
						settings: { fsync: "on", max_wal_size: "8GB" },
					});
					try {
						return await minutesInto("Postgres", 1, say, (count) =>
							loadInto(server, daysOf(count), directory, true),
						);
					} finally {
						await server.stop();
					}
				},
			};
			const found: Measurement[] = [];
			for (const part of partsOf(measures))
				found.push(...(await measures[part]()));
			return found;
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

/** @param run Loads so many of the day's minutes. */
async function minutesInto(
	name: string,
	atMost: number,
	say: Say,
	run: (count: number) => Promise<ProcessCost>,
): Promise<Measurement[]> {
	const whole = await run(minutes - rounds);
	say(`the day into ${name}: ${whole.seconds.toFixed(1)} s`);
	const costs: ProcessCost[] = [];
	for (let round = 1; round <= rounds; round++) {
		const cost = await run(minutes - rounds + round);
		costs.push(cost);
		say(`${name}, round ${round} of ${rounds}: ${cost.seconds.toFixed(2)} s`);
	}
	const again = await run(minutes);
	const into = name === "DuckDB" ? "" : ` into ${name}`;
	return [
		figure(`the whole day${into}`, whole.seconds, "s"),
		figure(
			`one new minute${into}`,
			costs.map(({ seconds }) => seconds),
			"s",
			{ atMost },
		),
		figure(`nothing new${into}`, again.seconds, "s"),
		figure(
			`peak memory${into}`,
			costs.map(({ peakBytes }) => peakBytes / 1e6),
			"MB",
		),
	];
}

async function writeMinutes(directory: string, say: Say): Promise<string[]> {
	await mkdir(directory);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const files: string[] = [];
	const stepMs = dayMs / minutes / perMinute;
	for (let minute = 0; minute < minutes; minute++) {
		const file = join(
			directory,
			`bench-${String(minute).padStart(20, "0")}.parquet`,
		);
		const [from, to] = [minute * perMinute, (minute + 1) * perMinute];
		await writeEventObject(
			connection,
			file,
			{ date, from, to, stepMs },
			20_480,
		);
		files.push(file);
	}
	connection.closeSync();
	instance.closeSync();
	say(`wrote ${files.length} objects of ${perMinute} events`);
	return files;
}

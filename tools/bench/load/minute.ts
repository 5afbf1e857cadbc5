import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { type Bench, figure, type Say } from "../measure/measurement.ts";
import { roundsOf } from "../measure/rounds.ts";
import { bodyBytes, writeEventObject } from "./event-objects.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";

const events = Number(process.env.BENCH_EVENTS ?? 10_000_000);
const minutes = 1_440;
const rounds = roundsOf(5);
const date = "2026-03-01";
const perMinute = Math.floor(events / minutes);

/** A scheduled Run of a minute's events into a day that the table holds but for them, beside the first Run of that day. */
export const bench: Bench = {
	about: `a scheduled Run of one new minute in a day of ${events} events of ${bodyBytes} bytes, a cut a minute, into DuckDB`,
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
			const run = (count: number) => {
				const rows = count * perMinute;
				const day = { date, rows, objects: objects.slice(0, count) };
				return load(
					manifestOf([day]),
					{ type: "DuckDB", path: "day.duckdb" },
					directory,
					{ input: { adds: true } },
				);
			};
			const whole = await run(minutes - rounds);
			say(`the day: ${whole.seconds.toFixed(1)} s`);
			const [seconds, peaks]: [number[], number[]] = [[], []];
			for (let round = 1; round <= rounds; round++) {
				const cost = await run(minutes - rounds + round);
				seconds.push(cost.seconds);
				peaks.push(cost.peakBytes / 1e6);
				say(`round ${round} of ${rounds}: ${cost.seconds.toFixed(2)} s`);
			}
			const again = await run(minutes);
			return [
				figure("the whole day", whole.seconds, "s"),
				figure("one new minute", seconds, "s", { atMost: 2 }),
				figure("nothing new", again.seconds, "s"),
				figure("peak memory", peaks, "MB"),
			];
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

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

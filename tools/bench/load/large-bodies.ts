import { rm } from "node:fs/promises";
import { join } from "node:path";
import { startOfDate } from "../../../packages/contracts/utc-date.ts";
import { figure, type Measurement } from "../measure/measurement.ts";
import { load } from "./load-process.ts";
import {
	type DatedObject,
	type EventFile,
	firstDate,
	manifestOf,
	upload,
	withDuckDB,
} from "./objects.ts";
import type { LoadBench } from "./warehouses.ts";

/** BENCH_GIGABYTES=20 shows that memory doesn't grow with the window. */
const events = Number(process.env.BENCH_GIGABYTES ?? 2) * 1_000;
const bodyBytes = 1_000_000;
/** As in archive's objects, which end at 8 MiB. */
const perObject = 8;

/** Bodies so large that 2,048 of them, which DuckDB handles at once, don't fit into a Job's memory. */
export async function largeBodies({
	directory,
	s3,
	destination,
	say,
}: LoadBench): Promise<Measurement[]> {
	const objects = await upload(s3, writeObjects(directory));
	say(`uploaded ${objects.length} objects`);
	const run = (some: DatedObject[]) =>
		load(manifestOf(some), destination, directory, {
			input: { adds: true },
		});
	const whole = await run(objects.slice(0, events / perObject));
	const added = await run(objects);
	const megabytes = (bytes: number) => bytes / 1e6;
	return [
		figure(`a day of ${events} bodies of 1 MB`, whole.seconds, "s"),
		figure("its peak memory", megabytes(whole.peakBytes), "MB", {
			atMost: 600,
		}),
		figure("100 of them more", added.seconds, "s"),
		figure("their peak memory", megabytes(added.peakBytes), "MB", {
			atMost: 600,
		}),
	];
}

/** One after the other, each gone when the next is asked for. */
async function* writeObjects(directory: string): AsyncGenerator<EventFile> {
	const count = Math.ceil((events + 100) / perObject);
	for (let number = 0; number < count; number++) {
		const name = `${String(number).padStart(5, "0")}.parquet`;
		const file = join(directory, name);
		await writeObject(file, number * perObject);
		yield { file, date: firstDate, rows: perObject };
		await rm(file);
	}
}

/** Half of each body is random. Groups of 4 rows, as archive's end at 4 MiB; DuckDB knows bytes alone below 2,048 rows. */
async function writeObject(file: string, from: number): Promise<void> {
	await withDuckDB(async (connection) => {
		await connection.run("SET preserve_insertion_order = false");
		await connection.run(
			`COPY (SELECT format('{:012x}-7000-8000-{:012x}', ms, i) AS event_id, make_timestamptz(ms * 1000) AS timestamp, DATE '${firstDate}' AS date,
				'{"n":' || i || ',"a":"' || repeat('x', ${bodyBytes / 2}) || '","b":"' || array_to_string(list_transform(range(${Math.floor(bodyBytes / 128)}), lambda n: sha256(i || '-' || n)), '') || '"}' AS body,
				'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
			FROM (SELECT i, ${startOfDate(firstDate)} + i AS ms FROM range(${from}, ${from + perObject}) t(i)))
		TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE_BYTES 4194304)`,
		);
	});
}

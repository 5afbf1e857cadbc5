import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import { startOfDate } from "../../../packages/contracts/utc-date.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { type Bench, figure } from "../measure/measurement.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";

/** BENCH_GIGABYTES=20 shows that memory doesn't grow with the window. */
const events = Number(process.env.BENCH_GIGABYTES ?? 2) * 1_000;
const bodyBytes = 1_000_000;
/** As in archive's objects, which end at 8 MiB. */
const perObject = 8;
const date = "2026-03-01";

/** Bodies so large that 2,048 of them, which DuckDB handles at once, don't fit into a Job's memory. */
export const bench: Bench = {
	about: `a Run of ${events} events of 1 MB in one day into DuckDB, then one of 100 more into the same day`,
	async run(say) {
		const directory = await temporaryDirectory("bench-large-bodies");
		const s3 = await startS3();
		try {
			const objects: ManifestObject[] = [];
			const upload = new ObjectUpload(s3);
			const count = Math.ceil((events + 100) / perObject);
			for (let index = 0; index < count; index++) {
				const file = join(
					directory,
					`${String(index).padStart(5, "0")}.parquet`,
				);
				await writeObject(file, index * perObject);
				objects.push(await upload.put(file, perObject));
				await rm(file);
			}
			upload.close();
			say(`uploaded ${count} objects`);
			await mkdir(join(directory, "run"));
			const run = (some: ManifestObject[]) => {
				const rows = some.length * perObject;
				return load(
					manifestOf([{ date, rows, objects: some }]),
					{ type: "DuckDB", path: "large.duckdb" },
					join(directory, "run"),
					{ input: { adds: true } },
				);
			};
			const whole = await run(objects.slice(0, events / perObject));
			const added = await run(objects);
			return [
				figure("the whole day", whole.seconds, "s"),
				figure("its peak memory", whole.peakBytes / 1e6, "MB", { atMost: 600 }),
				figure("100 events more", added.seconds, "s"),
				figure("their peak memory", added.peakBytes / 1e6, "MB", {
					atMost: 600,
				}),
			];
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

/** Half of each body is random. Groups of 4 rows, as archive's end at 4 MiB; DuckDB knows bytes alone below 2,048 rows. */
async function writeObject(file: string, from: number): Promise<void> {
	const instance = await DuckDBInstance.create(":memory:", {
		preserve_insertion_order: "false",
	});
	const connection = await instance.connect();
	await connection.run(
		`COPY (SELECT format('{:012x}-7000-8000-{:012x}', ms, i) AS event_id, make_timestamptz(ms * 1000) AS timestamp, DATE '${date}' AS date,
				'{"n":' || i || ',"a":"' || repeat('x', ${bodyBytes / 2}) || '","b":"' || array_to_string(list_transform(range(${Math.floor(bodyBytes / 128)}), lambda n: sha256(i || '-' || n)), '') || '"}' AS body,
				'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
			FROM (SELECT i, ${startOfDate(date)} + i AS ms FROM range(${from}, ${from + perObject}) t(i)))
		TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE_BYTES 4194304)`,
	);
	connection.closeSync();
	instance.closeSync();
}

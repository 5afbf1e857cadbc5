import { rm } from "node:fs/promises";
import { join } from "node:path";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import {
	type Bench,
	compared,
	figure,
	type Measurement,
} from "../measure/measurement.ts";
import type { ProcessCost } from "../measure/process-cost.ts";
import { alternate, partsOf, roundsOf } from "../measure/rounds.ts";
import { largeBodies } from "./large-bodies.ts";
import { load } from "./load-process.ts";
import { newMinutes } from "./minute.ts";
import {
	bodyBytes,
	manifestOf,
	upload,
	withDuckDB,
	writeEventFiles,
} from "./objects.ts";
import { reloads } from "./reload.ts";
import { type LoadBench, warehouses } from "./warehouses.ts";

/** BENCH_EVENTS=10000000 shows that memory doesn't grow with the number of events. */
const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const objects = 10;

const chosen = process.env.BENCH_WAREHOUSE || "DuckDB";
const warehouse = warehouses[chosen];
if (!warehouse)
	throw new Error(
		`BENCH_WAREHOUSE: there is no "${chosen}". Set it to one of: ${Object.keys(warehouses).join(", ")}.`,
	);
const measures: Record<string, (here: LoadBench) => Promise<Measurement[]>> = {
	whole: wholeLoad,
	minute: newMinutes,
	...(chosen === "Postgres" && { reload: reloads }),
	...(chosen === "DuckDB" && { large: largeBodies }),
};

/** A Run's process from start to end, with all its checks. */
export const bench: Bench = {
	about: `loading ${events} events of ${bodyBytes} bytes from S3 into ${warehouse.name}, all checks included; baseline: ${warehouse.baseline}`,
	async run(say) {
		const found: Measurement[] = [];
		for (const part of partsOf(measures)) {
			const directory = await temporaryDirectory("bench-load");
			const s3 = await startS3();
			const started = await warehouse.start(directory);
			try {
				const here = { ...started, warehouse, s3, directory, say };
				found.push(...(await measures[part]!(here)));
			} finally {
				await started.stop();
				await s3.stop();
				await rm(directory, { recursive: true, force: true });
			}
		}
		return found;
	},
};

/** All dates in one Run, against the same rows by hand. */
async function wholeLoad(here: LoadBench): Promise<Measurement[]> {
	const { directory, s3, say, destination, env = {}, alone, clear } = here;
	const { name, days, isRecent, prepared, goals } = here.warehouse;
	const folder = join(directory, "objects");
	const stepMs = (8 * 10) / days;
	const wanted = { events, objects, days, stepMs };
	const files = await writeEventFiles(folder, wanted);
	const file = join(directory, "prepared");
	if (prepared) await prepare(folder, file, prepared);
	const uploaded = await upload(s3, files);
	const bytes = uploaded.reduce((sum, object) => sum + object.bytes, 0);
	say(`uploaded ${objects} objects, ${Math.round(bytes / 1e6)} MB in total`);
	const manifest = manifestOf(uploaded);
	if (isRecent)
		manifest.snapshotTime = `${addDays(manifest.closedThrough, 1)}T00:00:00Z`;
	const legs: Record<string, () => Promise<ProcessCost>> = {
		...(alone && { alone: () => alone(prepared ? file : folder) }),
		load: () => load(manifest, destination, directory, { env }),
	};
	const {
		load: loads,
		alone: baselines,
	}: Record<string, ProcessCost[] | undefined> = await alternate(
		`${events} events`,
		legs,
		{
			count: roundsOf(events > 1_000_000 ? 3 : 7),
			say,
			text: ({ seconds }) => `${seconds.toFixed(2)} s`,
			after: clear,
		},
	);
	const seconds = loads!.map((cost) => cost.seconds);
	const megabytes = loads!.map(({ peakBytes }) => Math.round(peakBytes / 1e6));
	return [
		baselines
			? compared(
					`time into ${name}`,
					"s",
					seconds,
					baselines.map((cost) => cost.seconds),
					goals.time,
				)
			: figure(`time into ${name}`, seconds, "s"),
		figure(
			`CPU into ${name}`,
			loads!.map(({ cpuSeconds }) => cpuSeconds),
			"s",
		),
		figure(`peak memory into ${name}`, megabytes, "MB", goals.memory),
	];
}

/** All rows in one file, for the baseline. */
function prepare(folder: string, file: string, options: string) {
	return withDuckDB(async (connection) => {
		await connection.run("SET TimeZone = 'UTC'");
		await connection.run(
			`COPY (SELECT event_id, timestamp, body, date FROM read_parquet('${folder}/*.parquet')) TO '${file}' (${options})`,
		);
	});
}

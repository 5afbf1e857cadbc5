import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DateObjects } from "../../../ingest/archive/ledger/date-objects.ts";
import { CompactionStore } from "../../../ingest/lake/compaction/record.ts";
import { ManifestObjects } from "../../../ingest/lake/manifest/manifest-objects.ts";
import { processEnvironment } from "../../../operator/install/process-environment.ts";
import type { ObjectStoreSettings } from "../../../packages/bucket/s3-client.ts";
import { S3ObjectStore } from "../../../packages/bucket/s3-object-store.ts";
import type {
	Manifest,
	ManifestDate,
} from "../../../packages/contracts/manifest.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { accessStore } from "../../../test/support/servers/store-access.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { load } from "../load/load-process.ts";
import { bodyBytes, manifestOfDates } from "../load/objects.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";
import {
	costOf,
	type ProcessCost,
	sourcesEnvironment,
} from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import {
	closedDates,
	objectsOf,
	objectsOfDay,
	rowsOfObject,
	source,
	writeObjects,
} from "./closed-dates.ts";
import type { CompactionWork } from "./compaction-process.ts";

/** `BENCH_DAYS=30 make bench ONLY=compaction` takes a whole month. */
const days = Number(process.env.BENCH_DAYS ?? 1);
const dates = closedDates(days);

/** A Run over the objects of a cut a minute, before and after their compaction, against a Run over one object. */
export const bench: Bench = {
	about: `loading ${days} ${days === 1 ? "day" : "days"} of a cut a minute, ${rowsOfObject} events of ${bodyBytes} bytes in each, before and after compaction; baseline: one object with all the rows`,
	async run(say) {
		const s3 = await startS3();
		const directory = await temporaryDirectory("bench-compaction");
		try {
			const settings = accessStore(s3);
			const store = new S3ObjectStore(settings, new AbortController().signal);
			const single = "single.parquet";
			await writeObjects(s3, store.keys, dates, single);
			const objects = days * objectsOfDay;
			say(`wrote ${objects} objects, and one with the same rows`);
			const run = async (manifest: Manifest) => {
				const path = "bench.duckdb";
				const cost = await load(manifest, { type: "DuckDB", path }, directory);
				await rm(join(directory, path));
				return cost.seconds;
			};
			const singleObject = await singleManifest(store, single);
			const before = await manifestOf(store);
			const secondsBefore = await run(before);
			say(`before compaction: ${secondsBefore.toFixed(1)} s`);
			const compaction = await compact(settings, directory);
			say(`compacted in ${compaction.seconds.toFixed(1)} s`);
			const after = await manifestOf(store);
			const loads = await alternate(
				"load",
				{ after: () => run(after), one: () => run(singleObject) },
				{
					count: roundsOf(5),
					say,
					text: (seconds) => `${seconds.toFixed(1)} s`,
				},
			);
			return [
				figure("objects before", countOf(before), "objects"),
				figure("objects after", countOf(after), "objects"),
				figure("load before", secondsBefore, "s"),
				compared("load after", "s", loads.after, loads.one),
				figure("compaction", compaction.seconds, "s"),
				figure("its peak memory", compaction.peakBytes / 1024 ** 2, "MiB"),
				figure("bytes before", bytesOf(before) / 1e6, "MB"),
				figure("bytes after", bytesOf(after) / 1e6, "MB"),
			];
		} finally {
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

async function manifestOf(store: S3ObjectStore): Promise<Manifest> {
	const objects = new ManifestObjects({
		store,
		replaced: new CompactionStore(store),
	});
	const found: ManifestDate[] = [];
	for (const date of dates)
		found.push(
			await objects.ofDate(
				{ ...source, date },
				() => DateObjects.of(objectsOf()),
				3600,
			),
		);
	return manifestOfDates(found);
}

async function singleManifest(
	store: S3ObjectStore,
	key: string,
): Promise<Manifest> {
	const rows = days * objectsOfDay * rowsOfObject;
	for await (const { bytes } of store.list(key)) {
		const url = await store.presign(key, 3600);
		const objects = [{ key, url, rows, bytes }];
		return manifestOfDates([{ date: dates[0]!, rows, objects }]);
	}
	throw new Error(`There is no object ${key}`);
}

/** The cost of a process that compacts all dates, including its start. */
async function compact(
	settings: ObjectStoreSettings,
	directory: string,
): Promise<ProcessCost> {
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
			env: { ...sourcesEnvironment(), ...processEnvironment.archive },
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

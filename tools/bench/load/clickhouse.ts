import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ManifestObject } from "../../../packages/contracts/manifest.ts";
import { addDays } from "../../../packages/contracts/utc-date.ts";
import {
	type ClickHouseInput,
	fileEnv,
} from "../../../packages/warehouses/clickhouse/input.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../../../test/support/servers/clickhouse/server.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { benchDay, dayObjects, writeDay } from "./day.ts";
import { bodyBytes } from "./event-objects.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";

const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);

/** A Run's process from its start to its end, against an INSERT of prepared Parquet through the same front of ClickHouse's engine. */
export const bench: Bench = {
	about: `loading ${events} events of ${bodyBytes} bytes of one day from S3 into ClickHouse's engine, all checks included; baseline: one INSERT of a Parquet file with the same rows through the same HTTP front`,
	async run(say) {
		const directory = await temporaryDirectory("bench-clickhouse");
		const s3 = await startS3();
		const server = await startClickHouse();
		try {
			await server.rows("CREATE DATABASE shop");
			const file = join(directory, "events.parquet");
			const upload = new ObjectUpload(s3);
			const objects: ManifestObject[] = [];
			const options = "FORMAT parquet, COMPRESSION zstd";
			const day = join(directory, "objects");
			for (const part of await writeDay(day, events, { file, options }))
				objects.push(await upload.put(part, events / dayObjects));
			upload.close();
			const manifest = {
				...manifestOf([{ date: benchDay, rows: events, objects }]),
				// So soon after the day, a Run records it, with a digest of its rows.
				snapshotTime: `${addDays(benchDay, 1)}T00:00:00Z`,
			};
			const env: Record<string, string> = {};
			for (const name of ["user", "password"] as const) {
				const path = join(directory, name);
				await writeFile(path, server[name]);
				env[fileEnv[name === "user" ? "username" : name]] = path;
			}
			const destination = {
				type: "ClickHouse",
				url: server.url,
				database: "shop",
				engine: "MergeTree",
				isLocal: true,
			} satisfies ClickHouseInput;
			const legs = await alternate(
				`${events} events`,
				{
					INSERT: () => insertAlone(server, file),
					load: () => load(manifest, destination, directory, { env }),
				},
				{
					count: roundsOf(7),
					say,
					text: ({ seconds }) => `${seconds.toFixed(2)} s`,
					after: async () => {
						for (const { 0: table } of await server.rows(
							"SELECT name FROM system.tables WHERE database = 'shop'",
						))
							await server.rows(`DROP TABLE shop.\`${table}\` SYNC`);
					},
				},
			);
			return [
				compared(
					"time into ClickHouse's engine",
					"s",
					legs.load.map(({ seconds }) => seconds),
					legs.INSERT.map(({ seconds }) => seconds),
					{ ratioAtMost: 1.15 },
				),
				figure(
					"peak memory of the load",
					legs.load.map(({ peakBytes }) => Math.round(peakBytes / 1e6)),
					"MB",
					{ atMost: 500 },
				),
			];
		} finally {
			await server.stop();
			await s3.stop();
			await rm(directory, { recursive: true, force: true });
		}
	},
};

/** As large as load's own. In pieces of 64 KiB the INSERT would wait for its sender, which takes twice the CPU time for them. */
const pieceBytes = 1 << 20;

async function insertAlone(server: ClickHouseServer, file: string) {
	await server.rows(
		"CREATE TABLE shop.events (event_id String, timestamp DateTime64(6, 'UTC'), body String, date Date) ENGINE = MergeTree PARTITION BY date ORDER BY (date, timestamp, event_id)",
	);
	const startMs = performance.now();
	const query = "INSERT INTO shop.events FORMAT Parquet";
	const response = await fetch(
		`${server.url}/?query=${encodeURIComponent(query)}`,
		{
			method: "POST",
			headers: {
				"X-ClickHouse-User": server.user,
				"X-ClickHouse-Key": server.password,
			},
			body: createReadStream(file, { highWaterMark: pieceBytes }) as never,
			duplex: "half",
		} as RequestInit,
	);
	if (!response.ok) throw new Error(await response.text());
	await response.text();
	return { seconds: (performance.now() - startMs) / 1000, peakBytes: 0 };
}

import { spawn } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installPackages } from "../../../local/binaries/debian-packages.ts";
import type {
	Manifest,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import {
	fileEnv,
	type PostgresInput,
} from "../../../packages/warehouses/postgres/input.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../../../test/support/servers/postgres.ts";
import { startS3 } from "../../../test/support/servers/servers.ts";
import { temporaryDirectory } from "../../../test/support/servers/test-server.ts";
import { type Bench, compared, figure } from "../measure/measurement.ts";
import { costOf } from "../measure/process-cost.ts";
import { alternate, roundsOf } from "../measure/rounds.ts";
import { benchDay, dayObjects, writeDay } from "./day.ts";
import { bodyBytes } from "./event-objects.ts";
import { load } from "./load-process.ts";
import { manifestOf, ObjectUpload } from "./object-upload.ts";

const events = Number(process.env.BENCH_EVENTS ?? 1_000_000);
const destination = {
	type: "Postgres",
	host: "127.0.0.1",
	database: "postgres",
	schema: "public",
	sslMode: "disable",
	isLocal: true,
} satisfies Partial<PostgresInput>;

/** A Run's process from its start to its end, against psql's `\copy` into a partition, by the same server with the same settings. */
export const bench: Bench = {
	about: `loading ${events} events of ${bodyBytes} bytes of one day from S3 into Postgres, all checks included; baseline: psql's \\copy of a CSV file with the same rows into an empty partition`,
	async run(say) {
		installPackages({ psql: "postgresql-client" }, console.error);
		const directory = await temporaryDirectory("bench-postgres");
		const s3 = await startS3();
		const server = await startPostgres({
			settings: { fsync: "on", max_wal_size: "8GB" },
		});
		try {
			const csv = join(directory, "events.csv");
			const upload = new ObjectUpload(s3);
			const objects: ManifestObject[] = [];
			for (const file of await writeDay(join(directory, "objects"), events, {
				file: csv,
				options: "HEADER false",
			}))
				objects.push(await upload.put(file, events / dayObjects));
			upload.close();
			const day = manifestOf([{ date: benchDay, rows: events, objects }]);
			const legs = await alternate(
				`${events} events`,
				{
					"\\copy": () => copyAlone(server, csv),
					load: () => loadInto(server, day, directory),
				},
				{
					count: roundsOf(7),
					say,
					text: ({ seconds }) => `${seconds.toFixed(2)} s`,
					after: async () => {
						await server.rows("DROP TABLE IF EXISTS events, _tidemill_loads");
						await server.rows("CHECKPOINT");
					},
				},
			);
			const [loads, copies] = [legs.load, legs["\\copy"]];
			return [
				compared(
					"time into Postgres",
					"s",
					loads.map(({ seconds }) => seconds),
					copies.map(({ seconds }) => seconds),
					{ ratioAtMost: 1.15 },
				),
				figure(
					"peak memory into Postgres",
					loads.map(({ peakBytes }) => Math.round(peakBytes / 1e6)),
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

async function copyAlone(server: PostgresServer, csv: string) {
	await server.rows(
		`CREATE TABLE events (event_id text, timestamp timestamptz, body text, date date) PARTITION BY RANGE (date);
		CREATE TABLE events_p20260301 PARTITION OF events FOR VALUES FROM ('${benchDay}') TO ('2026-03-02')`,
	);
	const { port, user, password } = server;
	return costOf(
		spawn(
			"psql",
			[
				"--quiet",
				"--no-psqlrc",
				`postgres://${user}@127.0.0.1:${port}/postgres`,
				"--command",
				`\\copy events_p20260301 FROM '${csv}' (FORMAT csv)`,
			],
			{ env: { ...process.env, PGPASSWORD: password }, stdio: "inherit" },
		),
	);
}

/** Runs a load into the table `events` of a server's database, as its superuser. */
export async function loadInto(
	{ port, user, password }: PostgresServer,
	manifest: Manifest,
	directory: string,
	adds = false,
) {
	const env: Record<string, string> = {};
	for (const [name, content] of Object.entries({ username: user, password })) {
		const path = join(directory, name);
		await writeFile(path, content);
		env[fileEnv[name as "username" | "password"]] = path;
	}
	return load(manifest, { ...destination, port } as PostgresInput, directory, {
		env,
		input: adds ? { adds } : {},
	});
}

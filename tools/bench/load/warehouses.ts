import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { installPackages } from "../../../local/binaries/debian-packages.ts";
import type { DestinationInput } from "../../../packages/contracts/job.ts";
import { fileEnv as clickHouseEnv } from "../../../packages/warehouses/clickhouse/definition.ts";
import { fileEnv as postgresEnv } from "../../../packages/warehouses/postgres/input.ts";
import { startBigQueryDouble } from "../../../test/support/doubles/bigquery/server.ts";
import { boundTo } from "../../../test/support/fixtures/data-plane/bound-input.ts";
import { startClickHouse } from "../../../test/support/servers/clickhouse/server.ts";
import { startPostgres } from "../../../test/support/servers/postgres.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import type { Goal, Say } from "../measure/measurement.ts";
import { costOf, type ProcessCost } from "../measure/process-cost.ts";
import { firstDate } from "./objects.ts";

/** A type of warehouse, and what a person would do by hand with the same rows. */
export interface BenchWarehouse {
	/** For the names of the figures. */
	name: string;
	/** The baseline, in words. */
	baseline: string;
	/** The dates that the events are spread over. */
	days: 1 | 10;
	/** The Run is so soon after its dates that it records them, with a digest of the rows. */
	isRecent?: boolean;
	/** DuckDB's options of COPY for the one file that the baseline reads. Without them it reads the objects. */
	prepared?: string;
	goals: { time?: Goal; memory?: Goal; minute?: Goal };
	/** @param directory where the load's process has its volume. */
	start(directory: string): Promise<StartedWarehouse>;
}

export interface StartedWarehouse {
	destination: DestinationInput;
	/** Of the load's process. */
	env?: Record<string, string>;
	/** Does by hand what the load does. @param path the prepared file, or the folder of the objects. */
	alone?(path: string): Promise<ProcessCost>;
	/** How many bytes it has written into its log of changes, ever. */
	logged?(): Promise<number>;
	/** Empties it after a leg. */
	clear(): Promise<void>;
	stop(): Promise<void>;
}

/** What a part loads into, and where it has its files. */
export interface LoadBench extends StartedWarehouse {
	warehouse: BenchWarehouse;
	s3: TestS3;
	/** The load's volume. */
	directory: string;
	say: Say;
}

const duckDB: BenchWarehouse = {
	name: "DuckDB",
	baseline:
		"DuckDB alone reading the same Parquet files from disk, checking nothing",
	days: 10,
	goals: {
		time: { ratioAtMost: 1 },
		memory: { atMost: 450 },
		minute: { atMost: 0.5 },
	},
	async start(directory) {
		const script = new URL("duckdb-alone.ts", import.meta.url).pathname;
		const [path, alone] = ["load.duckdb", join(directory, "alone.duckdb")];
		return {
			destination: { type: "DuckDB", path },
			alone: (objects) =>
				costOf(spawn(process.execPath, [script, alone, objects])),
			clear: async () => {
				for (const file of [join(directory, path), alone])
					await rm(file, { force: true });
			},
			stop: async () => {},
		};
	},
};

const postgres: BenchWarehouse = {
	name: "Postgres",
	baseline:
		"psql's \\copy of a CSV file with the same rows into an empty partition",
	days: 1,
	prepared: "HEADER false",
	goals: {
		time: { ratioAtMost: 1.15 },
		memory: { atMost: 500 },
		minute: { atMost: 1 },
	},
	async start(directory) {
		installPackages({ psql: "postgresql-client" }, console.error);
		const server = await startPostgres({
			settings: { fsync: "on", max_wal_size: "8GB" },
		});
		const { port, user, password } = server;
		return {
			destination: {
				type: "Postgres",
				host: "127.0.0.1",
				port,
				database: "postgres",
				schema: "public",
				sslMode: "disable",
				isLocal: true,
				bound: boundTo(`postgres+disable://127.0.0.1:${port}`),
			},
			env: await secretFiles(directory, [
				[postgresEnv.username, user],
				[postgresEnv.password, password],
			]),
			alone: async (csv) => {
				await server.rows(
					`CREATE TABLE events (event_id text, timestamp timestamptz, body text, date date) PARTITION BY RANGE (date);
					CREATE TABLE events_day PARTITION OF events FOR VALUES FROM ('${firstDate}') TO ('2026-03-02')`,
				);
				const url = `postgres://${user}@127.0.0.1:${port}/postgres`;
				const copy = `\\copy events_day FROM '${csv}' (FORMAT csv)`;
				return costOf(
					spawn("psql", ["-q", "--no-psqlrc", url, "--command", copy], {
						env: { ...process.env, PGPASSWORD: password },
						stdio: "inherit",
					}),
				);
			},
			logged: async () => {
				const [[bytes] = []] = await server.rows(
					"SELECT pg_current_wal_insert_lsn() - '0/0'",
				);
				return Number(bytes);
			},
			clear: async () => {
				await server.rows("DROP TABLE IF EXISTS events, _tidemill_loads");
				await server.rows("CHECKPOINT");
			},
			stop: () => server.stop(),
		};
	},
};

/** As large as load's own. In pieces of 64 KiB the INSERT would wait for its sender, which takes twice the CPU time for them. */
const pieceBytes = 1 << 20;

const clickHouse: BenchWarehouse = {
	name: "ClickHouse's engine",
	baseline:
		"one INSERT of a Parquet file with the same rows through the same HTTP front",
	days: 1,
	isRecent: true,
	prepared: "FORMAT parquet, COMPRESSION zstd",
	goals: { time: { ratioAtMost: 1.15 }, memory: { atMost: 500 } },
	async start(directory) {
		const server = await startClickHouse();
		const { url, user, password } = server;
		await server.rows("CREATE DATABASE shop");
		return {
			destination: {
				type: "ClickHouse",
				url,
				database: "shop",
				engine: "MergeTree",
				isLocal: true,
				bound: boundTo(url),
			},
			env: await secretFiles(directory, [
				[clickHouseEnv.username, user],
				[clickHouseEnv.password, password],
			]),
			alone: async (file) => {
				await server.rows(
					"CREATE TABLE shop.events (event_id String, timestamp DateTime64(6, 'UTC'), body String, date Date) ENGINE = MergeTree PARTITION BY date ORDER BY (date, timestamp, event_id)",
				);
				const startMs = performance.now();
				const query = "INSERT INTO shop.events FORMAT Parquet";
				const response = await fetch(
					`${url}/?query=${encodeURIComponent(query)}`,
					{
						method: "POST",
						headers: {
							"X-ClickHouse-User": user,
							"X-ClickHouse-Key": password,
						},
						body: createReadStream(file, { highWaterMark: pieceBytes }),
						duplex: "half",
					} as unknown as RequestInit,
				);
				const answer = await response.text();
				if (!response.ok) throw new Error(answer);
				const seconds = (performance.now() - startMs) / 1000;
				return { seconds, cpuSeconds: 0, peakBytes: 0 };
			},
			clear: async () => {
				for (const [table] of await server.rows(
					"SELECT name FROM system.tables WHERE database = 'shop'",
				))
					await server.rows(`DROP TABLE shop.\`${table}\` SYNC`);
			},
			stop: () => server.stop(),
		};
	},
};

/** The double does BigQuery's work on the same two cores: it shows that uploads stream, not how fast BigQuery is. */
const bigQuery: BenchWarehouse = {
	name: "the double of BigQuery",
	baseline: "none",
	days: 10,
	goals: {},
	async start(directory) {
		const double = await startBigQueryDouble();
		const { projectId, endpoint, keyJson } = double;
		await double.warehouse.createDataset("bench", "EU");
		return {
			destination: {
				type: "BigQuery",
				projectId,
				dataset: "bench",
				location: "EU",
				createDataset: false,
				apiEndpoint: endpoint,
			},
			env: await secretFiles(directory, [
				["GOOGLE_APPLICATION_CREDENTIALS", keyJson],
			]),
			clear: async () => {},
			stop: () => double.close(),
		};
	},
};

/** By the name for `BENCH_WAREHOUSE`. */
export const warehouses: Record<string, BenchWarehouse> = {
	DuckDB: duckDB,
	Postgres: postgres,
	ClickHouse: clickHouse,
	BigQuery: bigQuery,
};

/** Files that a Job has of a Secret; the variables name them. */
async function secretFiles(
	directory: string,
	secrets: [variable: string, content: string][],
): Promise<Record<string, string>> {
	const env: Record<string, string> = {};
	for (const [variable, content] of secrets) {
		env[variable] = join(directory, variable);
		await writeFile(env[variable], content);
	}
	return env;
}

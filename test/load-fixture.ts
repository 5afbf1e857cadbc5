import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance, type Json } from "@duckdb/node-api";
import { onTestFinished } from "vitest";
import type { JobResult, LoadInput, TableColumn } from "../contracts/job.ts";
import type { Manifest } from "../contracts/manifest.ts";
import { startOfDate } from "../contracts/utc-date.ts";
import { type ObjectServer, startObjectServer } from "./object-server.ts";
import { type ObjectEvent, parquetObject } from "./parquet-object.ts";
import { temporaryDirectory } from "./test-server.ts";
import { startTidemill, type TidemillProcess } from "./tidemill-process.ts";

/** A warehouse volume, a store of objects, and `tidemill load` between them: all that a Run's Job sees. */
export interface LoadFixture {
	store: ObjectServer;
	warehouse: string;
	scratch: string;
	/** The DuckDB file. */
	file: string;
	/** Stores objects (one per list of events) and returns the manifest that names them. */
	manifest(days: Record<string, ObjectEvent[][]>): Promise<Manifest>;
	/** Starts `tidemill load`; `finish` gives what it left behind. */
	start(
		manifest: Manifest,
		options?: LoadOptions,
	): Promise<{ process: TidemillProcess; finish: () => Promise<LoadEnd> }>;
	load(manifest: Manifest, options?: LoadOptions): Promise<LoadEnd>;
	/** Asks the DuckDB file; nobody may have it open. */
	rows(sql: string): Promise<Json[][]>;
	/** Changes the DuckDB file by hand. */
	change(sql: string): Promise<void>;
}

export interface LoadOptions {
	input?: Partial<LoadInput>;
	env?: Record<string, string>;
}

export interface LoadEnd {
	exitCode: number | null;
	/** undefined when the process left none. */
	result: JobResult | undefined;
	log: string;
}

export const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "timestamp", from: "Timestamp" },
	{ name: "body", from: "Body" },
	{ name: "date", from: "Date" },
];

/** Events of a date, a second apart; the tag is in their ids and bodies. */
export function eventsOf(
	date: string,
	count: number,
	tag: string,
): ObjectEvent[] {
	return Array.from({ length: count }, (_, index) => ({
		event_id: `${date}-${tag}-${index}`,
		timestampMs: startOfDate(date) + index * 1000,
		body: JSON.stringify({ tag, index }),
	}));
}

export async function loadFixture(): Promise<LoadFixture> {
	const store = await startObjectServer();
	const directory = await temporaryDirectory("load");
	onTestFinished(async () => {
		await store.close();
		await rm(directory, { recursive: true, force: true });
	});
	const warehouse = join(directory, "warehouse");
	const scratch = join(directory, "scratch");
	await Promise.all([mkdir(warehouse), mkdir(scratch)]);
	const file = join(warehouse, "shop.duckdb");
	const start: LoadFixture["start"] = async (manifest, options) => {
		const job = join(directory, randomUUID());
		await mkdir(job);
		const input: LoadInput = {
			version: 1,
			run: { name: "run", uid: manifest.run, account: "shop", pipeline: "p" },
			destination: { type: "DuckDB", path: "shop.duckdb" },
			table: { name: "orders", columns, description: "Events of shop" },
			strategy: "Incremental",
			rebuild: false,
			manifestURL: store.put(`${job}/manifest`, JSON.stringify(manifest)),
			...options?.input,
		};
		await writeFile(join(job, "input.json"), JSON.stringify(input));
		const process = startTidemill(
			["load", "--input", join(job, "input.json")],
			{
				TIDEMILL_SCRATCH: scratch,
				TIDEMILL_WAREHOUSE: warehouse,
				TIDEMILL_RESULT: join(job, "result"),
				...options?.env,
			},
		);
		const finish = async () => {
			const { exitCode, stdout, stderr } = await process.ended;
			const text = await readFile(join(job, "result"), "utf8").catch(
				() => undefined,
			);
			return {
				exitCode,
				result: text === undefined ? undefined : JSON.parse(text),
				log: stdout + stderr,
			};
		};
		return { process, finish };
	};
	return {
		store,
		warehouse,
		scratch,
		file,
		manifest: (days) => manifest(days, store),
		start,
		load: async (manifest, options) =>
			(await start(manifest, options)).finish(),
		rows: (sql) => ask(file, sql, "READ_ONLY"),
		change: async (sql) => {
			await ask(file, sql, "READ_WRITE");
		},
	};
}

async function manifest(
	days: Record<string, ObjectEvent[][]>,
	store: ObjectServer,
): Promise<Manifest> {
	const dates = [];
	for (const [date, lists] of Object.entries(days).sort()) {
		const objects = [];
		for (const [index, events] of lists.entries()) {
			const key = `events/date=${date}/${index}-${randomUUID()}.parquet`;
			const bytes = await parquetObject(date, events);
			const url = store.put(key, bytes);
			objects.push({ key, url, rows: events.length, bytes: bytes.length });
		}
		dates.push({ date, rows: lists.flat().length, objects });
	}
	return {
		version: 1,
		run: randomUUID(),
		account: "shop",
		sourceKey: "0".repeat(32),
		snapshotTime: new Date().toISOString(),
		closedThrough: "2026-03-01",
		expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
		dates,
	};
}

async function ask(
	file: string,
	sql: string,
	access_mode: string,
): Promise<Json[][]> {
	const instance = await DuckDBInstance.create(file, { access_mode });
	const connection = await instance.connect();
	try {
		await connection.run("SET TimeZone = 'UTC'");
		return await (await connection.run(sql)).getRowsJson();
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

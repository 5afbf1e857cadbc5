import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DatesToAsk } from "../../../operator/pipeline/plan-dates.ts";
import { askArchive } from "../../../operator/reconcile/archive-question.ts";
import {
	jobEnv,
	type LoadInput,
	type TableColumn,
} from "../../../packages/contracts/job.ts";
import type {
	AskedDates,
	Manifest,
	ManifestAnswer,
	ManifestRequest,
} from "../../../packages/contracts/manifest.ts";
import { manifestSubject } from "../../../packages/contracts/nats.ts";
import type { Route } from "../../../packages/contracts/route.ts";
import { createLog } from "../../../packages/service/log.ts";
import type { PlainRow } from "../../support/senders/persistent-sender.ts";
import {
	startTidemill,
	type TidemillProcess,
} from "../../support/servers/tidemill-process.ts";
import type { Part, Scene } from "./scene/scene.ts";
import { eventually, Violation } from "./scene/violation.ts";

/**
 * Loads a Source's events into a table, and those in quarantine into another, as operator and a Job would, with a new try
 * after each that failed. Their rows.
 * @param asked as operator decided, all unless given.
 */
export async function loadTable(
	scene: Scene,
	route: Route,
	project: string,
	asked?: DatesToAsk,
): Promise<{ table: PlainRow[]; quarantine: PlainRow[] }> {
	const run = randomUUID();
	const { account, source } = route;
	const directory = join(scene.scratch, run);
	await mkdir(directory);
	const columns: TableColumn[] = [
		{ name: "event_id", from: "EventID" },
		{ name: "timestamp", from: "Timestamp" },
		{ name: "body", from: "Body" },
		{ name: "date", from: "Date" },
	];
	const input: LoadInput = {
		version: 1,
		run: { name: source, uid: run, account, pipeline: source },
		destination: { type: "DuckDB", path: "table.duckdb" },
		table: { name: "events", columns, description: "" },
		quarantineTable: { name: "quarantine_events", columns, description: "" },
		strategy: "Incremental",
		rebuild: false,
		manifestURL: await manifestURL(scene, route, run, asked),
	};
	const file = join(directory, "input.json");
	await writeFile(file, JSON.stringify(input));
	const env = {
		[jobEnv.scratch]: directory,
		[jobEnv.warehouse]: directory,
	};
	await eventually("table", async () => {
		const load = startTidemill(["load", "--input", file], env, project);
		scene.parts.load = asPart(load);
		const { exitCode, stdout } = await load.ended;
		if (exitCode === 65) throw new Violation("table", stdout);
		return exitCode === 0 ? undefined : stdout;
	});
	const database = join(directory, "table.duckdb");
	return {
		table: await rowsOf(database, "events"),
		quarantine: await rowsOf(database, "quarantine_events"),
	};
}

/** Files of all that a new Run of the Source would load. Throws a {@link Violation} when one isn't there. */
export async function manifestFiles(
	scene: Scene,
	route: Route,
): Promise<string[]> {
	const answer = await fetch(await manifestURL(scene, route));
	const manifest = (await answer.json()) as Manifest;
	return manifest.dates
		.flatMap(({ objects, quarantine }) => [
			...objects,
			...(quarantine?.objects ?? []),
		])
		.map(({ key }) => {
			const file = join(scene.store.s3.bucketDirectory, key);
			if (existsSync(file)) return file;
			throw new Violation(
				"objects",
				`a manifest names ${key}, which is not there`,
			);
		});
}

/** Where the manifest of a Run is that would load all of a Source or what is asked for, with what is in quarantine. */
async function manifestURL(
	{ admin }: Scene,
	{ account, sourceKey, shard }: Route,
	run: string = randomUUID(),
	asked: AskedDates = { extent: "Whole" },
): Promise<string> {
	const question: ManifestRequest = {
		run,
		account,
		sourceKey,
		...asked,
		quarantine: true,
	};
	let url = "";
	await eventually("table", async () => {
		const answer = await askArchive<ManifestAnswer>(
			{ nats: admin, log: createLog("test") },
			{ subject: manifestSubject(shard), shard },
			question,
			"NoAnswer",
			new AbortController().signal,
		);
		if (!answer.ok) return answer.error.message;
		url = answer.url;
		return undefined;
	});
	return url;
}

/** A Job's process: once killed, its next try is another. */
function asPart({ child, ended }: TidemillProcess): Part {
	const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
		child.kill(signal);
		await ended;
	};
	return {
		pid: child.pid!,
		logFile: undefined,
		ended: ended.then(({ exitCode, signal }) => signal ?? String(exitCode)),
		kill,
		start: async () => undefined,
		stop: kill,
	};
}

async function rowsOf(file: string, table: string): Promise<PlainRow[]> {
	const instance = await DuckDBInstance.create(file, {
		access_mode: "READ_ONLY",
	});
	const connection = await instance.connect();
	try {
		// A Source without events has none.
		const tables = await connection.runAndReadAll("SHOW TABLES");
		if (!tables.getRows().some(([name]) => name === table)) return [];
		const reader = await connection.runAndReadAll(
			`SELECT event_id, md5(body) AS digest FROM ${table}`,
		);
		return reader.getRowObjectsJson() as unknown as PlainRow[];
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

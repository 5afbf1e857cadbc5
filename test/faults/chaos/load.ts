import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DatesToAsk } from "../../../operator/pipeline/plan-dates.ts";
import { askArchive } from "../../../operator/reconcile/archive-question.ts";
import {
	type JobResult,
	jobEnv,
	jobExitCode,
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

/** Rows of a Source's table, and of the one for those in quarantine. */
export interface LoadedRows {
	table: PlainRow[];
	quarantine: PlainRow[];
}

/** A Pipeline's tables in a file of their own. */
export class LoadedTable {
	readonly #scene: Scene;
	readonly #route: Route;
	readonly #project: string;
	readonly #directory: string;

	private constructor(scene: Scene, route: Route, project: string) {
		this.#scene = scene;
		this.#route = route;
		this.#project = project;
		this.#directory = join(scene.scratch, randomUUID());
	}

	/** There is no table yet. */
	static async open(scene: Scene, route: Route, project: string) {
		const table = new LoadedTable(scene, route, project);
		await mkdir(table.#directory);
		return table;
	}

	/**
	 * A Run, as operator and a Job would do it, with a new try after each that failed and may be repeated. Returns the code of its
	 * failure for good; undefined if it succeeds.
	 * @param asked as operator decided, all unless given.
	 */
	async run(
		more: Pick<LoadInput, "adds" | "acceptLoss"> = {},
		asked?: DatesToAsk,
	): Promise<string | undefined> {
		const scene = this.#scene;
		const run = randomUUID();
		const { account, source } = this.#route;
		const directory = this.#directory;
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
			manifestURL: await manifestURL(scene, this.#route, run, asked),
			...more,
		};
		const file = join(directory, "input.json");
		const resultFile = join(directory, "result.json");
		await writeFile(file, JSON.stringify(input));
		const env = {
			[jobEnv.scratch]: directory,
			[jobEnv.warehouse]: directory,
			[jobEnv.result]: resultFile,
			...scene.clock.envOf("load"),
		};
		let failure: string | undefined;
		await eventually("table", async () => {
			const args = ["load", "--input", file];
			const load = startTidemill(args, env, this.#project);
			scene.parts.load = asPart(load);
			const { exitCode, stdout } = await load.ended;
			if (exitCode !== 0 && exitCode !== jobExitCode.permanent) return stdout;
			const result: JobResult = JSON.parse(await readFile(resultFile, "utf8"));
			if (result.outcome === "Failed") failure = result.error.code;
			return undefined;
		});
		return failure;
	}

	async rows(): Promise<LoadedRows> {
		const database = join(this.#directory, "table.duckdb");
		return {
			table: await rowsOf(database, "events"),
			quarantine: await rowsOf(database, "quarantine_events"),
		};
	}
}

/** The rows of a first Run. Throws a {@link Violation} if it fails. */
export async function loadTable(
	scene: Scene,
	route: Route,
	project: string,
	asked?: DatesToAsk,
): Promise<LoadedRows> {
	const table = await LoadedTable.open(scene, route, project);
	const failure = await table.run({}, asked);
	if (failure) throw new Violation("table", `a Run fails with ${failure}`);
	return table.rows();
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

/** Why archive refuses a Run of the Source for good; undefined if it doesn't. */
export async function refusedManifest(
	scene: Scene,
	route: Route,
): Promise<string | undefined> {
	const { account, sourceKey, shard } = route;
	let code: string | undefined;
	await eventually("told", async () => {
		const answer = await askManifest(scene, shard, {
			...{ run: randomUUID(), account, sourceKey, quarantine: true },
			extent: "Whole",
		});
		if (answer.ok) return undefined;
		code = answer.error.code;
		return answer.error.retryable ? answer.error.message : undefined;
	});
	return code;
}

/** Where the manifest of a Run is that would load all of a Source or what is asked for, with what is in quarantine. */
async function manifestURL(
	scene: Scene,
	route: Route,
	run: string = randomUUID(),
	asked: AskedDates = { extent: "Whole" },
): Promise<string> {
	const { account, sourceKey, shard } = route;
	const question: ManifestRequest = {
		run,
		account,
		sourceKey,
		// The operator has it from the Source's status.
		shards: scene.moves.shardsOf(route),
		...asked,
		quarantine: true,
	};
	let url = "";
	await eventually("table", async () => {
		const answer = await askManifest(scene, shard, question);
		if (!answer.ok) return answer.error.message;
		url = answer.url;
		return undefined;
	});
	return url;
}

function askManifest(
	{ admin }: Scene,
	shard: number,
	question: ManifestRequest,
) {
	return askArchive<ManifestAnswer>(
		{ nats: admin, log: createLog("test") },
		{ subject: manifestSubject(shard), shard },
		question,
		"NoAnswer",
		new AbortController().signal,
	);
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

import { glob, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Kvm } from "@nats-io/kv";
import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import {
	furtherKey,
	type SourceLedger,
	sumOfLedgers,
} from "../../../../packages/contracts/ledger.ts";
import { bucket } from "../../../../packages/contracts/nats.ts";
import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import type { Scene, SceneStream } from "../scene/scene.ts";
import { eventually, Violation } from "../scene/violation.ts";
import { faultOfLedger, type ObjectRow, verifyRemains } from "./checks.ts";
import { recordsOf } from "./dates.ts";

/** Settles when everything in the stream is archived and purged. */
export async function untilArchived(scene: Scene): Promise<void> {
	await eventually("archived", async () => {
		for (const { healthUrl } of scene.archives) {
			const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
			if (/tidemill_archive_alarm\{shard="\d+"\} 1/.test(metrics))
				throw new Violation(
					"alarm",
					await (await fetch(`${healthUrl}/readyz`)).text(),
				);
		}
		for (const { name, state } of await scene.streams()) {
			const done = await scene.objectsDone(name);
			if (state.messages > 0)
				return `${state.messages} frames of ${name} aren't purged`;
			if (done !== state.last_seq)
				return `objects-done of ${name} is ${done}, its last sequence ${state.last_seq}`;
		}
		return undefined;
	});
}

/** Throws the first {@link Violation} found among cut records, objects and ledger. Returns the rows. */
export async function verifyArchive(scene: Scene): Promise<ObjectRow[]> {
	const objects = scene.routes.map(
		({ sourceKey }) =>
			`${scene.directory}/{events,quarantine}/*/source=${sourceKey}/*/*.parquet`,
	);
	return verifyRows(scene, await Array.fromAsync(glob(objects)));
}

/** The same of some objects, which may be all: their files. */
export async function verifyRows(
	scene: Scene,
	objects: string[],
): Promise<ObjectRow[]> {
	const { sent } = scene;
	const { expected } = scene.planned;
	const rows = await rowsOf(scene, objects);
	const streams = await Promise.all(
		(await scene.streams()).map(async (stream) => ({
			base: stream.base,
			lastSequence: stream.state.last_seq,
			cuts: await cutsOf(scene, stream),
		})),
	);
	const compactions = await recordsOf(scene);
	verifyRemains({
		sent,
		sharedMs: [...scene.clock.sharedMs],
		expected,
		rows,
		streams,
		compactions,
	});
	await verifyLedgers(scene, rows);
	return rows;
}

async function verifyLedgers(scene: Scene, rows: ObjectRow[]): Promise<void> {
	const kv = await new Kvm(scene.admin).open(bucket.ledger);
	for (const { sourceKey } of scene.routes) {
		const own = rows.filter((row) => row.sourceKey === sourceKey);
		// Published after the purge.
		await eventually("ledger", async () => {
			// A list of keys would be a consumer, and NATS has a limit of those.
			const shards = [...Array(scene.store.shards).keys()];
			const keys = [
				sourceKey,
				...shards.map((shard) => furtherKey(sourceKey, shard)),
			];
			const entries = await Promise.all(keys.map((key) => kv.get(key)));
			const ledgers = entries
				.filter((entry) => entry !== null && entry.operation === "PUT")
				.map((entry) => entry!.json<SourceLedger>());
			return faultOfLedger(sumOfLedgers(ledgers), own);
		});
	}
}

/** The stream's cut records of the seed, in order; none where there is no folder of them. */
async function cutsOf(
	scene: Scene,
	{ name, base }: SceneStream,
): Promise<CutRecord[]> {
	const directory = join(scene.directory, "cuts", name);
	const files = (await readdir(directory).catch(() => [])).sort();
	return Promise.all(
		files
			.filter((file) => Number.parseInt(file, 10) > base)
			.map(async (file) =>
				JSON.parse(await readFile(join(directory, file), "utf8")),
			),
	);
}

/** @param objects files. */
export async function rowsOf(
	{ directory }: Scene,
	objects: string[],
): Promise<ObjectRow[]> {
	if (objects.length === 0) return [];
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		const reader = await connection.runAndReadAll(
			`SELECT event_id, md5(body) AS digest, violations, source AS "sourceKey", e.date::VARCHAR AS date,
				epoch_ms(timestamp)::DOUBLE AS "timestampMs", filename[${directory.length + 2}:] AS object
			FROM read_parquet([${objects.map(quoteText).join()}], filename = true, hive_partitioning = true, hive_types = {'source': VARCHAR, 'account': VARCHAR, 'date': DATE}) e`,
		);
		return reader.getRowObjectsJson() as unknown as ObjectRow[];
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

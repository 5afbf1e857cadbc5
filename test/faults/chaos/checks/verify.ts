import { glob, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Kvm } from "@nats-io/kv";
import type { CutRecord } from "../../../../ingest/archive/decide/cut.ts";
import {
	type CutLoss,
	framesOf,
} from "../../../../ingest/archive/decide/loss.ts";
import {
	furtherKey,
	type ShardState,
	type SourceLedger,
	shardKey,
	sumOfLedgers,
} from "../../../../packages/contracts/ledger.ts";
import { bucket, shardOfStream } from "../../../../packages/contracts/nats.ts";
import { quoteText } from "../../../../packages/duckdb/quoting.ts";
import type { Scene } from "../scene/scene.ts";
import { eventually, Violation } from "../scene/violation.ts";
import {
	type CutStream,
	faultOfLedger,
	type ObjectRow,
	verifyRemains,
} from "./checks.ts";
import { recordsOf } from "./dates.ts";
import { lossesOf, type ToldLosses } from "./told.ts";

/** Settles when everything in the stream is archived and purged. */
export async function untilArchived(scene: Scene): Promise<void> {
	await eventually("archived", async () => {
		for (const { healthUrl } of scene.archives) {
			const metrics = await metricsOf({ healthUrl });
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
		return unsettledCut(scene);
	});
}

/** The newest cut of a stream that is gone gets its objects, or archive decides which of them are lost. */
async function unsettledCut(scene: Scene): Promise<string | undefined> {
	const decided = await decidedLosses(scene);
	for (const { cuts, lastSequence } of await streamsOf(scene)) {
		const cut = lastSequence === undefined && cuts.at(-1);
		if (!cut) continue;
		const { stream, first } = cut;
		const isDecided = decided.some(
			(of) => of.stream === stream && of.loss.from === first,
		);
		const name = `${stream}-${String(first).padStart(20, "0")}.parquet`;
		const objects = `${scene.directory}/{events,quarantine}/*/*/*/${name}`;
		const found = (await Array.fromAsync(glob(objects))).length;
		if (!isDecided && found < cut.groups.length)
			return `the cut at ${first} of ${stream}, which is gone, has ${found} of ${cut.groups.length} objects`;
	}
	return undefined;
}

/** Throws the first {@link Violation} found among cut records, objects and ledger. Returns the rows. */
export async function verifyArchive(scene: Scene): Promise<ObjectRow[]> {
	return verifyRows(scene, await objectsOf(scene));
}

/** Files of the seed's Sources. */
export function objectsOf(scene: Scene): Promise<string[]> {
	const objects = scene.routes.map(
		({ sourceKey }) =>
			`${scene.directory}/{events,quarantine}/*/source=${sourceKey}/*/*.parquet`,
	);
	return Array.fromAsync(glob(objects));
}

/** The same of some objects, which may be all: their files. */
export async function verifyRows(
	scene: Scene,
	objects: string[],
): Promise<ObjectRow[]> {
	const { sent } = scene;
	const { expected } = scene.planned;
	const rows = await rowsOf(scene, objects);
	const streams = await streamsOf(scene);
	const compactions = await recordsOf(scene);
	const told = await toldLosses(scene);
	verifyRemains({
		sent,
		sharedMs: [...scene.clock.sharedMs],
		expected,
		rows,
		streams,
		compactions,
		told,
	});
	await verifyLedgers(scene, rows, told);
	return rows;
}

async function verifyLedgers(
	scene: Scene,
	rows: ObjectRow[],
	told: ToldLosses,
): Promise<void> {
	const groups = told.losses.flatMap(({ loss }) =>
		loss.kind === "objects" ? loss.groups : [],
	);
	const lost = new Set(groups.map(({ sourceKey }) => sourceKey));
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
			const all = sumOfLedgers(ledgers);
			return faultOfLedger(all, own, lost.has(sourceKey));
		});
	}
}

/** Those of each shard that have been used in the seed, with their cuts in it. */
async function streamsOf(scene: Scene): Promise<CutStream[]> {
	const found: CutStream[] = [];
	for (const { shard, name: current, state } of await scene.streams())
		for (const name of new Set([...(await cutStreams(scene)), current])) {
			if (shardOfStream(name) !== shard || scene.isOver(name)) continue;
			const base = scene.baseOf(name);
			const cuts = await cutsOf(scene, name);
			found.push({
				base,
				lastSequence: name === current ? state.last_seq : undefined,
				cuts: cuts.filter(({ first }) => first > base),
			});
		}
	return found;
}

/** All streams that have cuts. */
async function cutStreams({
	directory,
}: Pick<Scene, "directory">): Promise<string[]> {
	return readdir(join(directory, "cuts")).catch(() => []);
}

/** All cut records of a bucket whose files are in this folder. */
export async function cutsIn(bucket: string): Promise<CutRecord[]> {
	const streams = await cutStreams({ directory: bucket });
	const cuts = streams.map((stream) => cutsOf({ directory: bucket }, stream));
	return (await Promise.all(cuts)).flat();
}

/** The stream's cut records, in order; none where there is no folder of them. */
async function cutsOf(
	bucket: Pick<Scene, "directory">,
	stream: string,
): Promise<CutRecord[]> {
	const directory = join(bucket.directory, "cuts", stream);
	const files = (await readdir(directory).catch(() => [])).sort();
	return Promise.all(
		files.map((file) => readJSON<CutRecord>(join(directory, file))),
	);
}

async function decidedLosses({ directory }: Scene): Promise<CutLoss[]> {
	const files = await Array.fromAsync(glob(`${directory}/losses/**/*.json`));
	return Promise.all(files.map(readJSON<CutLoss>));
}

async function readJSON<T>(file: string): Promise<T> {
	return JSON.parse(await readFile(file, "utf8"));
}

/** What the bucket says of losses, once the operator and Prometheus are told as much. */
async function toldLosses(scene: Scene): Promise<ToldLosses> {
	const cuts = await cutsIn(scene.directory);
	const losses = lossesOf(cuts, await decidedLosses(scene));
	const unknownSinceMs = new Map<number, number>();
	const kv = await new Kvm(scene.admin).open(bucket.ledger);
	for (let shard = 0; shard < scene.store.shards; shard++)
		await eventually("told", async () => {
			const own = losses.filter(
				({ stream }) => shardOfStream(stream) === shard,
			);
			const lost = own.reduce((sum, { loss }) => sum + framesOf(loss), 0);
			const entry = await kv.get(shardKey(shard));
			const { lostFrames, unknownSince } = entry!.json<ShardState>();
			const said = Object.values(lostFrames).reduce((sum, n) => sum + n, 0);
			if (said !== lost)
				return `the operator hears of ${said} lost frames of shard ${shard}, the bucket's records say ${lost}`;
			const isSaid = (text: string) =>
				metricOf(text, "lost_frames", shard) === lost &&
				metricOf(text, "unknown_losses", shard) > 0 === Boolean(unknownSince);
			const texts = await Promise.all(scene.archives.map(metricsOf));
			if (!texts.some(isSaid))
				return `no archive's metrics say ${lost} lost frames${unknownSince ? " and more" : ""} of shard ${shard}, as the operator hears`;
			if (!scene.hasLost && (lost > 0 || unknownSince))
				throw new Violation(
					"told",
					`${lost} lost frames${unknownSince ? " and more" : ""} are told of shard ${shard}, and no fault has lost any`,
				);
			if (unknownSince !== undefined)
				unknownSinceMs.set(shard, Date.parse(unknownSince));
			return undefined;
		});
	const { all: stored, life } = scene.frames;
	return { stored, life, losses, unknownSinceMs };
}

async function metricsOf({ healthUrl }: { healthUrl: string }) {
	return (await fetch(`${healthUrl}/metrics`)).text();
}

function metricOf(text: string, name: string, shard: number): number {
	const line = `^tidemill_archive_${name}\\{shard="${shard}"\\} (.*)$`;
	return Number(new RegExp(line, "m").exec(text)?.[1]);
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

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Kvm } from "@nats-io/kv";
import type { SourceLedger } from "../../../contracts/ledger.ts";
import { bucket } from "../../../contracts/nats.ts";
import { utcDate } from "../../../contracts/utc-date.ts";
import type { CutRecord } from "../../../ingest/archive/shard/cut.ts";
import { uuidTimeMs } from "../../event-time.ts";
import { brokenPromises, type PlainRow } from "../../persistent-sender.ts";
import type { Scene } from "./scene.ts";
import { eventually, Violation } from "./violation.ts";

/** A row of an object. */
export interface ObjectRow extends PlainRow {
	/** Key without the prefix. */
	object: string;
	sourceKey: string;
	date: string;
	timestampMs: number;
}

/** Settles when everything in the stream is archived and purged. */
export async function untilArchived(scene: Scene): Promise<void> {
	await eventually("archived", async () => {
		for (const { healthUrl } of scene.archives) {
			const metrics = await (await fetch(`${healthUrl}/metrics`)).text();
			if (metrics.includes('tidemill_archive_alarm{shard="0"} 1'))
				throw new Violation(
					"alarm",
					await (await fetch(`${healthUrl}/readyz`)).text(),
				);
		}
		const { name, state } = await scene.stream();
		const done = await scene.objectsDone(name);
		if (state.messages > 0) return `${state.messages} frames aren't purged`;
		return done === state.last_seq
			? undefined
			: `objects-done is ${done}, the stream's last sequence ${state.last_seq}`;
	});
}

/** Throws the first {@link Violation} found among cut records, objects and ledger. Returns the rows. */
export async function verifyArchive(scene: Scene): Promise<ObjectRow[]> {
	const rows = await rowsOf(scene);
	const [broken] = brokenPromises(rows, scene.sent);
	if (broken) throw new Violation("once", broken);
	verifyDates(scene, rows);
	const cuts = await cutsOf(scene);
	verifyCuts(cuts, scene.base, (await scene.stream()).state.last_seq);
	verifyObjects(cuts, rows);
	await verifyLedgers(scene, rows);
	return rows;
}

function verifyDates({ sent }: Scene, rows: ObjectRow[]): void {
	for (const { event_id, date, timestampMs } of rows) {
		const acknowledged = sent.acknowledged.get(event_id);
		const { sentAtMs, answeredAtMs } = acknowledged ?? {
			sentAtMs: 0,
			answeredAtMs: Number.POSITIVE_INFINITY,
		};
		const isRight =
			date === utcDate(timestampMs) &&
			uuidTimeMs(event_id) === timestampMs &&
			timestampMs >= sentAtMs &&
			timestampMs <= answeredAtMs;
		if (!isRight)
			throw new Violation(
				"date",
				`event ${event_id} has date ${date} and time ${new Date(timestampMs).toISOString()}; it was sent at ${new Date(sentAtMs).toISOString()}`,
			);
	}
}

function verifyCuts(
	cuts: CutRecord[],
	base: number,
	lastSequence: number,
): void {
	let next = base + 1;
	for (const { first, last } of cuts) {
		if (first !== next)
			throw new Violation(
				"cuts",
				`a cut begins at ${first}, where ${next} was to come`,
			);
		next = last + 1;
	}
	if (next !== lastSequence + 1)
		throw new Violation(
			"cuts",
			`the last cut ends at ${next - 1}, the stream at ${lastSequence}`,
		);
}

function verifyObjects(cuts: CutRecord[], rows: ObjectRow[]): void {
	const wanted = new Map<string, number>();
	for (const { stream, first, groups } of cuts)
		for (const { account, sourceKey, date, rows } of groups)
			wanted.set(
				`events/account=${account}/source=${sourceKey}/date=${date}/${stream}-${String(first).padStart(20, "0")}.parquet`,
				rows,
			);
	const found = countBy(rows, ({ object }) => object);
	for (const key of new Set([...wanted.keys(), ...found.keys()]))
		if (wanted.get(key) !== found.get(key))
			throw new Violation(
				"objects",
				`${key} has ${found.get(key) ?? "no"} rows, its cut record says ${wanted.get(key) ?? "nothing of it"}`,
			);
}

async function verifyLedgers(scene: Scene, rows: ObjectRow[]): Promise<void> {
	const kv = await new Kvm(scene.admin).open(bucket.ledger);
	for (const { sourceKey } of scene.routes) {
		const own = rows.filter((row) => row.sourceKey === sourceKey);
		const dates = Object.fromEntries(countBy(own, ({ date }) => date));
		// Published after the purge.
		await eventually("ledger", async () => {
			const ledger = (await kv.get(sourceKey))?.json<SourceLedger>();
			const archived = ledger?.archived ?? {};
			const isRight =
				Object.keys(archived).length === Object.keys(dates).length &&
				Object.entries(dates).every(([date, n]) => archived[date] === n);
			return isRight
				? undefined
				: `the ledger says ${JSON.stringify(archived)}, the objects have ${JSON.stringify(dates)}`;
		});
	}
}

function countBy<T>(list: T[], key: (each: T) => string): Map<string, number> {
	const counts = new Map<string, number>();
	for (const each of list)
		counts.set(key(each), (counts.get(key(each)) ?? 0) + 1);
	return counts;
}

/** The cut records of the seed, in order. */
async function cutsOf(scene: Scene): Promise<CutRecord[]> {
	const { name } = await scene.stream();
	const directory = join(scene.directory, "cuts", name);
	const files = (await readdir(directory)).sort();
	return Promise.all(
		files
			.filter((file) => Number.parseInt(file, 10) > scene.base)
			.map(async (file) =>
				JSON.parse(await readFile(join(directory, file), "utf8")),
			),
	);
}

async function rowsOf({ directory, routes }: Scene): Promise<ObjectRow[]> {
	const objects = routes.map(
		({ sourceKey }) =>
			`'${directory}/events/*/source=${sourceKey}/*/*.parquet'`,
	);
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		const reader = await connection.runAndReadAll(
			`SELECT event_id, md5(body) AS digest, source AS "sourceKey", e.date::VARCHAR AS date,
				epoch_ms(timestamp)::DOUBLE AS "timestampMs", filename[${directory.length + 2}:] AS object
			FROM read_parquet([${objects.join()}], filename = true, hive_partitioning = true, hive_types = {'source': VARCHAR, 'account': VARCHAR, 'date': DATE}) e`,
		);
		return reader.getRowObjectsJson() as unknown as ObjectRow[];
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

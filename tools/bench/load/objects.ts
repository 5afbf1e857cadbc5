import { mkdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
	GetObjectCommand,
	PutObjectCommand,
	S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import {
	addDays,
	dayMs,
	startOfDate,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";

export const bodyBytes = 500;
export const firstDate: UtcDate = "2026-03-01";

/** A file with rows `from` up to `to` of a date, one every `stepMs`. */
export interface EventRows {
	date: UtcDate;
	from: number;
	to: number;
	stepMs: number;
}

/** Writes events as archive does: sorted, in zstd, with ids that begin with their time (UUIDv7). About half of each body is random. */
export async function writeEventObject(
	connection: DuckDBConnection,
	file: string,
	{ date, from, to, stepMs }: EventRows,
	rowGroupRows = 20_480,
): Promise<void> {
	const filler = "x".repeat(bodyBytes - 256 - 28);
	await connection.run(
		`COPY (SELECT concat_ws('-', time[:8], time[9:], '7' || random[:3], '8' || random[4:6], random[7:18]) AS event_id,
				make_timestamptz(ms * 1000) AS timestamp,
				DATE '${date}' AS date,
				format('{{"n":{:09d},"a":"${filler}","b":"{}"}}', i, sha256(i::VARCHAR) || sha256(i::VARCHAR || 'a') || sha256(i::VARCHAR || 'b') || sha256(i::VARCHAR || 'c')) AS body,
				'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
			FROM (SELECT i, ${startOfDate(date)} + (i * ${stepMs})::BIGINT % ${dayMs} AS ms, format('{:012x}', ms) AS time, md5('${date}' || i) AS random
				FROM range(${from}, ${to}) t(i)))
		TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows})`,
	);
}

/** Runs `use` with a DuckDB in memory. */
export async function withDuckDB<T>(
	use: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		return await use(connection);
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

export interface EventFile {
	file: string;
	date: UtcDate;
	rows: number;
}

/** Writes `events` in `objects` files of equal size over so many days, of which each has as many files. */
export async function writeEventFiles(
	directory: string,
	wanted: { events: number; objects: number; days: number; stepMs: number },
): Promise<EventFile[]> {
	const { events, objects, days, stepMs } = wanted;
	const rows = Math.floor(events / objects);
	await mkdir(directory);
	return withDuckDB(async (connection) => {
		const files: EventFile[] = [];
		for (let number = 0; number < objects; number++) {
			const name = `bench-${String(number).padStart(20, "0")}.parquet`;
			const file = join(directory, name);
			const date = addDays(firstDate, Math.floor((number * days) / objects));
			const [from, to] = [number * rows, (number + 1) * rows];
			await writeEventObject(connection, file, { date, from, to, stepMs });
			files.push({ file, date, rows });
		}
		return files;
	});
}

/** A file in the bucket. */
export type DatedObject = ManifestObject & { date: UtcDate };

/** Puts files into a bucket. */
export async function upload(
	s3: TestS3,
	files: AsyncIterable<EventFile> | Iterable<EventFile>,
): Promise<DatedObject[]> {
	const { endpoint, region, bucket, accessKeyId, secretAccessKey } = s3;
	const client = new S3Client({
		endpoint,
		region,
		forcePathStyle: true,
		credentials: { accessKeyId, secretAccessKey },
	});
	const objects: DatedObject[] = [];
	for await (const { file, date, rows } of files) {
		// A stream couldn't be sent again after a failed request.
		const Body = await readFile(file);
		const [key, bytes] = [basename(file), Body.length];
		const object = { Bucket: bucket, Key: key };
		await client.send(new PutObjectCommand({ ...object, Body }));
		const url = await getSignedUrl(client, new GetObjectCommand(object));
		objects.push({ date, key, url, rows, bytes });
	}
	client.destroy();
	return objects;
}

export function manifestOf(objects: readonly DatedObject[]): Manifest {
	const byDate = Map.groupBy(objects, ({ date }) => date);
	const dates: ManifestDate[] = [...byDate].map(([date, dated]) => ({
		date,
		rows: dated.reduce((sum, { rows }) => sum + rows, 0),
		objects: dated.map(({ date: _, ...object }) => object),
	}));
	return manifestOfDates(dates);
}

export function manifestOfDates(dates: ManifestDate[]): Manifest {
	return {
		version: 1,
		run: "",
		account: "bench",
		sourceKey: "5a".repeat(16),
		snapshotTime: new Date().toISOString(),
		closedThrough: dates.at(-1)!.date,
		expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
		asked: { extent: "Whole" },
		dates,
	};
}

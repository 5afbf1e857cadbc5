import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import {
	addDays,
	datesBetween,
	dayMs,
	type UtcDate,
	utcDate,
} from "../contracts/utc-date.ts";
import { rowGroupSize } from "../ingest/archive/compaction/output-size.ts";
import type { IndexedObject } from "../ingest/archive/ledger/ledger-index.ts";
import type { ObjectKeys } from "../ingest/archive/s3/object-keys.ts";
import type { TestS3 } from "../test/support/servers/servers.ts";

/** As a cut a minute makes them. */
export const objectsOfDay = 24 * 60;
export const rowsOfObject = 50;
const rowsOfDay = objectsOfDay * rowsOfObject;
export const bodyBytes = 500;
/** As in what a compaction writes: what a load needs of memory depends on it. */
const rowsOfGroup = rowGroupSize({
	objects: 1,
	rows: rowsOfDay,
	bytes: rowsOfDay * bodyBytes,
});

export const source = { account: "bench", sourceKey: "5a".repeat(16) };
/** One that the shard had before. */
export const stream = "tidemill-frames-0-0123456789abcdef";

/** So many dates that can get no more events, ascending. */
export function closedDates(days: number): UtcDate[] {
	const last = addDays(utcDate(Date.now()), -2);
	return datesBetween(addDays(last, 1 - days), last);
}

/** The ledger's objects of a date. */
export function objectsOf(): IndexedObject[] {
	return Array.from({ length: objectsOfDay }, (_, first) => ({
		stream,
		first,
		rows: rowsOfObject,
	}));
}

/** Puts the dates' objects where the gateway keeps its files, and one beside them, with this key, that has all rows. */
export async function writeObjects(
	s3: TestS3,
	keys: ObjectKeys,
	dates: readonly UtcDate[],
	single?: string,
): Promise<void> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	const filler = "x".repeat(bodyBytes - 256 - 28);
	const rows = (date: string, from: number, to: number) =>
		`SELECT uuid()::VARCHAR AS event_id, TIMESTAMPTZ '${date} 00:00:00+00' + to_milliseconds((i * ${dayMs / rowsOfDay})::BIGINT % ${dayMs}) AS timestamp, DATE '${date}' AS date,
			format('{{"n":{:09d},"a":"${filler}","b":"{}"}}', i, sha256(i::VARCHAR) || sha256(i::VARCHAR || 'a') || sha256(i::VARCHAR || 'b') || sha256(i::VARCHAR || 'c')) AS body,
			'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
		FROM range(${from}, ${to}) t(i)`;
	const write = async (key: string, date: string, from: number, to: number) => {
		const file = join(s3.bucketDirectory, key);
		await mkdir(dirname(file), { recursive: true });
		await connection.run(
			`COPY (${rows(date, from, to)}) TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowsOfGroup})`,
		);
	};
	try {
		for (const date of dates)
			for (const { first } of objectsOf()) {
				const from = first * rowsOfObject;
				const key = keys.events({ ...source, date }, stream, first);
				await write(key, date, from, from + rowsOfObject);
			}
		// In a table, all rows have the date of the folder that they were loaded for.
		if (single) await write(single, dates[0]!, 0, dates.length * rowsOfDay);
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

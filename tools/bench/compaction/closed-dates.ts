import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { IndexedObject } from "../../../ingest/archive/ledger/date-objects.ts";
import { rowGroupSize } from "../../../ingest/lake/objects/parquet-size.ts";
import type { ObjectKeys } from "../../../packages/bucket/object-keys.ts";
import {
	addDays,
	datesBetween,
	dayMs,
	type UtcDate,
	utcDate,
} from "../../../packages/contracts/utc-date.ts";
import type { TestS3 } from "../../../test/support/servers/servers.ts";
import { bodyBytes, withDuckDB, writeEventObject } from "../load/objects.ts";

/** One cut a minute. */
export const objectsOfDay = 24 * 60;
export const rowsOfObject = 50;
const rowsOfDay = objectsOfDay * rowsOfObject;
/** The row group size of compaction, since a load's memory depends on it. */
const rowsOfGroup = rowGroupSize({
	objects: 1,
	rows: rowsOfDay,
	bytes: rowsOfDay * bodyBytes,
});

export const source = { account: "bench", sourceKey: "5a".repeat(16) };
/** A former stream of the shard. */
export const stream = "tidemill-frames-0-0123456789abcdef";

/** The latest `days` dates that can get no more events, ascending. */
export function closedDates(days: number): UtcDate[] {
	const last = addDays(utcDate(Date.now()), -2);
	return datesBetween(addDays(last, 1 - days), last);
}

/** A date's objects, as the ledger has them. */
export function objectsOf(): IndexedObject[] {
	return Array.from({ length: objectsOfDay }, (_, first) => ({
		stream,
		first,
		rows: rowsOfObject,
	}));
}

/**
 * Writes the dates' objects into the gateway's directory.
 * @param single key of one more object that holds all rows.
 */
export async function writeObjects(
	s3: TestS3,
	keys: ObjectKeys,
	dates: readonly UtcDate[],
	single?: string,
): Promise<void> {
	await withDuckDB(async (connection) => {
		const write = async (
			key: string,
			date: UtcDate,
			from: number,
			to: number,
		) => {
			const file = join(s3.bucketDirectory, key);
			await mkdir(dirname(file), { recursive: true });
			const rows = { date, from, to, stepMs: dayMs / rowsOfDay };
			await writeEventObject(connection, file, rows, rowsOfGroup);
		};
		for (const date of dates)
			for (const { first } of objectsOf()) {
				const from = first * rowsOfObject;
				const key = keys.events({ ...source, date }, stream, first);
				await write(key, date, from, from + rowsOfObject);
			}
		// All its rows have one date, since a load checks that a day's objects hold only that day.
		if (single) await write(single, dates[0]!, 0, dates.length * rowsOfDay);
	});
}

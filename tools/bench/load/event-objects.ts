import type { DuckDBConnection } from "@duckdb/node-api";
import {
	dayMs,
	startOfDate,
	type UtcDate,
} from "../../../packages/contracts/utc-date.ts";

export const bodyBytes = 500;

/** Rows `from` up to `to` of a date, one every `stepMs`. */
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
	rowGroupRows: number,
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

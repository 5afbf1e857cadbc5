import type { DuckDBConnection } from "@duckdb/node-api";
import { dayMs, type UtcDate } from "../../contracts/utc-date.ts";

export const bodyBytes = 500;

/** Rows `from` up to `to` of a date, one every `stepMs`. */
export interface EventRows {
	date: UtcDate;
	from: number;
	to: number;
	stepMs: number;
}

/** Writes events as archive does: sorted, in zstd. About half of each body is random. */
export async function writeEventObject(
	connection: DuckDBConnection,
	file: string,
	{ date, from, to, stepMs }: EventRows,
	rowGroupRows: number,
): Promise<void> {
	const filler = "x".repeat(bodyBytes - 256 - 28);
	await connection.run(
		`COPY (SELECT uuid()::VARCHAR AS event_id,
				TIMESTAMPTZ '${date} 00:00:00+00' + to_milliseconds((i * ${stepMs})::BIGINT % ${dayMs}) AS timestamp,
				DATE '${date}' AS date,
				format('{{"n":{:09d},"a":"${filler}","b":"{}"}}', i, sha256(i::VARCHAR) || sha256(i::VARCHAR || 'a') || sha256(i::VARCHAR || 'b') || sha256(i::VARCHAR || 'c')) AS body,
				'json' AS kind, NULL::VARCHAR AS headers, NULL::VARCHAR AS violations
			FROM range(${from}, ${to}) t(i))
		TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupRows})`,
	);
}

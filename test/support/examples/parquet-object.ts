import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBDateValue, DuckDBTimestampTZValue } from "@duckdb/node-api";
import { dayMs, startOfDate } from "../../../packages/contracts/utc-date.ts";
import { withDuckDB } from "../duckdb.ts";
import { temporaryDirectory } from "../servers/test-server.ts";

export interface ObjectEvent {
	event_id: string;
	/** Milliseconds since the epoch. */
	timestampMs: number;
	body: string;
	/** As what it is stored; `json` if absent. */
	kind?: "json" | "form";
	headers?: Record<string, string>;
	/** What a tracking plan found, as JSON. */
	violations?: string;
}

/** The bytes of one object, in the format that archive writes. */
export async function parquetObject(
	date: string,
	events: ObjectEvent[],
): Promise<Buffer> {
	const directory = await temporaryDirectory("parquet");
	return withDuckDB(async (connection) => {
		await connection.run(
			"CREATE TEMP TABLE e (event_id VARCHAR, timestamp TIMESTAMPTZ, date DATE, body VARCHAR, kind VARCHAR, headers VARCHAR, violations VARCHAR)",
		);
		const appender = await connection.createAppender("e");
		for (const event of events) {
			const { event_id, timestampMs, body, headers, violations } = event;
			appender.appendVarchar(event_id);
			appender.appendTimestampTZ(
				new DuckDBTimestampTZValue(BigInt(timestampMs) * 1000n),
			);
			appender.appendDate(new DuckDBDateValue(startOfDate(date) / dayMs));
			appender.appendVarchar(body);
			appender.appendVarchar(event.kind ?? "json");
			appender.appendVarchar(headers ? JSON.stringify(headers) : "");
			if (violations === undefined) appender.appendNull();
			else appender.appendVarchar(violations);
			appender.endRow();
		}
		appender.closeSync();
		const file = join(directory, "object.parquet");
		await connection.run(
			`COPY (FROM e ORDER BY timestamp, event_id) TO '${file}' (FORMAT parquet, COMPRESSION zstd)`,
		);
		return await readFile(file);
	}).finally(() => rm(directory, { recursive: true, force: true }));
}

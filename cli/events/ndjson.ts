import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { erasedKind } from "../../packages/contracts/manifest.ts";

/** How a body stands in a line: as a JSON value, or as the text that was sent. */
export type BodyFormat = "json" | "text";

/** Writes the events of a Parquet file of the bucket as NDJSON, an object on each line. */
export async function writeNdjson(
	parquet: string,
	file: string,
	format: BodyFormat = "json",
) {
	// @duckdb/node-api: reads Parquet. Loaded here alone, since it is large.
	const { DuckDBInstance } = await import("@duckdb/node-api");
	const instance = await DuckDBInstance.create(":memory:", { threads: "2" });
	const connection = await instance.connect();
	try {
		const rows = await connection.stream(
			"SELECT event_id, timestamp, body, headers, kind FROM read_parquet($1) WHERE kind <> $2",
			[parquet, erasedKind],
		);
		const lines = async function* () {
			for (;;) {
				const chunk = await rows.fetchChunk();
				if (!chunk || chunk.rowCount === 0) return;
				for (const [id, time, body, headers, kind] of chunk.getRows() as Row[])
					yield ndjsonLine(
						[
							id,
							new Date(Number(time.micros / 1000n)).toISOString(),
							body,
							headers,
							kind,
						],
						format,
					);
			}
		};
		await pipeline(Readable.from(lines()), createWriteStream(file));
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

type Row = [
	id: string,
	time: { micros: bigint },
	body: string,
	headers: string | null,
	kind: string,
];

/** Ends with the line's end, and says how the body stands in it. */
export function ndjsonLine(
	[id, time, body, headers, kind]: [
		id: string,
		time: string,
		body: string,
		headers: string | null,
		kind?: string,
	],
	format: BodyFormat = "json",
): string {
	const head = `{"event_id":${JSON.stringify(id)},"timestamp":${JSON.stringify(time)},"bodyFormat":"${format}"${kind === "form" ? ',"kind":"form"' : ""}`;
	const captured = headers === null ? "" : `,"headers":${oneLine(headers)}`;
	const value = format === "text" ? JSON.stringify(body) : oneLine(body);
	return `${head}${captured},"body":${value}}\n`;
}

/** The format of the bodies of a file that {@link writeNdjson} has written; `json` if it doesn't say. */
export function bodyFormatIn(start: string): BodyFormat {
	return start.split('"headers":')[0]!.includes('"bodyFormat":"text"')
		? "text"
		: "json";
}

/** No string of JSON has a raw line break, so those of a body are between its tokens (RFC 8259 §7). */
function oneLine(json: string): string {
	return json.replaceAll(/[\r\n]+/g, " ");
}

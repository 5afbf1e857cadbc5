import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
// @duckdb/node-api: writes Parquet with zstd faster than a writer in JavaScript could.
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { utcDate } from "../../../contracts/utc-date.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import type { FrameEvent } from "../../wire/frame.ts";
import { EventChunk, eventColumns } from "./event-chunk.ts";

/**
 * Types that every Parquet reader and warehouse knows: UTF-8 text, DATE, and TIMESTAMP in UTC with microseconds.
 * The id is text (8-4-4-4-12), since few readers know Parquet's UUID. JSON is text, byte for byte as received, or null.
 */
const selectRows = (date: string) => `
	SELECT
		id::VARCHAR AS event_id,
		timestamp,
		DATE ${quoteText(date)} AS date,
		decode(body) AS body,
		CASE WHEN is_form THEN 'form' ELSE 'json' END AS kind,
		headers,
		violations
	FROM events`;

/**
 * A cut is small (8 MiB), so it needs little memory; a larger one spills to the scratch folder. Each further thread would
 * hold rows. The file keeps the order of insertion.
 */
const databaseSettings = {
	memory_limit: "128MiB",
	threads: "1",
	preserve_insertion_order: "true",
};

/** DuckDB buffers this many rows before it compresses them; a multiple of its vectors of 2,048 rows. */
const rowGroupSize = 8_192;

const abandonedMs = 60 * 60_000;

/** Makes the objects' content. A process has one; its database is empty between calls. */
export class ParquetWriter {
	readonly #database: DuckDBInstance;
	readonly #scratch: string;
	#files = 0;

	private constructor(database: DuckDBInstance, scratch: string) {
		this.#database = database;
		this.#scratch = scratch;
	}

	/** @param scratch Folder for temporary files. Created if missing, and cleared of the files of killed processes. */
	static async open(scratch: string): Promise<ParquetWriter> {
		await mkdir(scratch, { recursive: true });
		for (const file of await readdir(scratch)) {
			const path = join(scratch, file);
			const { mtimeMs } = await stat(path);
			if (file.endsWith(".parquet") && Date.now() - mtimeMs > abandonedMs)
				await rm(path, { force: true });
		}
		const database = await DuckDBInstance.create(":memory:", {
			...databaseSettings,
			temp_directory: join(scratch, "duckdb"),
		});
		return new ParquetWriter(database, scratch);
	}

	/** A Parquet file of these events, all of one date, sorted by timestamp and id. */
	async write(events: readonly FrameEvent[]): Promise<Uint8Array> {
		const connection = await this.#database.connect();
		const file = join(this.#scratch, `${process.pid}-${this.#files++}.parquet`);
		try {
			await connection.run(`CREATE TEMP TABLE events (${eventColumns})`);
			await append(connection, events.toSorted(byTimeAndId));
			const rows = selectRows(utcDate(events[0]?.receivedAtMs ?? 0));
			await connection.run(
				`COPY (${rows}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupSize})`,
			);
			return await readFile(file);
		} finally {
			connection.closeSync();
			await rm(file, { force: true });
		}
	}

	close(): void {
		this.#database.closeSync();
	}
}

/** Sorting in DuckDB would need twice the memory, and events arrive almost in this order. */
function byTimeAndId(a: FrameEvent, b: FrameEvent): number {
	return a.receivedAtMs - b.receivedAtMs || Buffer.compare(a.id, b.id);
}

async function append(
	connection: DuckDBConnection,
	events: readonly FrameEvent[],
): Promise<void> {
	const appender = await connection.createAppender("events", "main", "temp");
	const chunk = new EventChunk();
	for (let start = 0; start < events.length; start += chunk.capacity) {
		// Appending is synchronous, so let heartbeats and probes run in between.
		if (start > 0) await yieldToOthers();
		appender.appendDataChunk(
			chunk.fill(events.slice(start, start + chunk.capacity)),
		);
	}
	appender.closeSync();
}

import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToOthers } from "node:timers/promises";
// @duckdb/node-api: writes Parquet with zstd faster than a writer in JavaScript could.
import {
	BLOB,
	BOOLEAN,
	DuckDBBlobValue,
	type DuckDBBlobVector,
	type DuckDBBooleanVector,
	type DuckDBConnection,
	DuckDBDataChunk,
	DuckDBInstance,
	type DuckDBPreparedStatement,
	DuckDBTimestampTZValue,
	type DuckDBTimestampTZVector,
	DuckDBUUIDValue,
	type DuckDBUUIDVector,
	type DuckDBVarCharVector,
	TIMESTAMPTZ,
	UUID,
	VARCHAR,
} from "@duckdb/node-api";
import { quoteText } from "../../duckdb/quoting.ts";
import type { FrameEvent } from "../../wire/frame.ts";

/** Columns of the table that takes events. SQL makes the other columns, faster. */
const eventColumns = `
	id UUID NOT NULL,
	timestamp TIMESTAMPTZ NOT NULL,
	body BLOB NOT NULL,
	is_form BOOLEAN NOT NULL,
	headers VARCHAR,
	violations VARCHAR`;

/**
 * Types that every Parquet reader and warehouse knows: UTF-8 text, DATE, and TIMESTAMP in UTC with microseconds.
 * The id is text (8-4-4-4-12), since few readers know Parquet's UUID. JSON is text, byte for byte as received, or null. The
 * date is that of the timestamp in UTC, whatever the session's time zone.
 */
const selectRows = `
	SELECT
		id::VARCHAR AS event_id,
		timestamp,
		make_timestamp(epoch_us(timestamp))::DATE AS date,
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

/** DuckDB keeps the memory of deleted rows as long as their temporary table, so that a new one takes its place. */
const maxRowsOfTable = rowGroupSize;

const abandonedMs = 60 * 60_000;

/** Makes the objects' content. A process has one; its database is empty between calls. */
export class ParquetWriter {
	readonly #database: DuckDBInstance;
	readonly #scratch: string;
	/** Tables that nobody uses now, all empty. To make one takes as long as to write a small file. */
	readonly #idle: EventTable[] = [];
	#tables = 0;

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
		const table = this.#idle.pop() ?? (await this.#newTable());
		try {
			const file = await table.write(events.toSorted(byTimeAndId));
			if (table.rows < maxRowsOfTable) this.#idle.push(table);
			else table.close();
			return file;
		} catch (error) {
			// What is left in the table must not get into another file.
			table.close();
			throw error;
		}
	}

	#newTable(): Promise<EventTable> {
		const name = `${process.pid}-${this.#tables++}.parquet`;
		return EventTable.open(this.#database, join(this.#scratch, name));
	}

	close(): void {
		for (const table of this.#idle) table.close();
		this.#database.closeSync();
	}
}

/** A temporary table of events in a connection of its own, and the file that it is copied to. */
class EventTable {
	readonly #connection: DuckDBConnection;
	/** Planning takes half of the time of a small copy, so it is done once. */
	readonly #copy: DuckDBPreparedStatement;
	readonly #file: string;
	readonly #chunk = new EventChunk();
	/** All that were ever in it. */
	rows = 0;

	private constructor(
		connection: DuckDBConnection,
		copy: DuckDBPreparedStatement,
		file: string,
	) {
		this.#connection = connection;
		this.#copy = copy;
		this.#file = file;
	}

	static async open(
		database: DuckDBInstance,
		file: string,
	): Promise<EventTable> {
		const connection = await database.connect();
		await connection.run(`CREATE TEMP TABLE events (${eventColumns})`);
		const copy = await connection.prepare(
			`COPY (${selectRows}) TO ${quoteText(file)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${rowGroupSize})`,
		);
		return new EventTable(connection, copy, file);
	}

	/** A Parquet file of these rows, in their order. The table is empty before and after. */
	async write(events: readonly FrameEvent[]): Promise<Uint8Array> {
		this.rows += events.length;
		try {
			await this.#append(events);
			await this.#copy.run();
			await this.#connection.run("TRUNCATE events");
			return await readFile(this.#file);
		} finally {
			await rm(this.#file, { force: true });
		}
	}

	close(): void {
		this.#connection.closeSync();
	}

	async #append(events: readonly FrameEvent[]): Promise<void> {
		const connection = this.#connection;
		const appender = await connection.createAppender("events", "main", "temp");
		const chunk = this.#chunk;
		for (let start = 0; start < events.length; start += chunk.capacity) {
			// Appending is synchronous, so let heartbeats and probes run in between.
			if (start > 0) await yieldToOthers();
			appender.appendDataChunk(
				chunk.fill(events.slice(start, start + chunk.capacity)),
			);
		}
		appender.closeSync();
	}
}

/** Sorting in DuckDB would need twice the memory, and events arrive almost in this order. */
function byTimeAndId(a: FrameEvent, b: FrameEvent): number {
	return a.receivedAtMs - b.receivedAtMs || Buffer.compare(a.id, b.id);
}

/**
 * Rows for DuckDB, column by column. Bodies stay bytes: making, copying and collecting a string of each took more time than
 * all the rest.
 */
class EventChunk {
	/** The most rows of one chunk: the size of DuckDB's vectors. */
	readonly capacity = 2048;
	readonly #chunk = DuckDBDataChunk.create([
		UUID,
		TIMESTAMPTZ,
		BLOB,
		BOOLEAN,
		VARCHAR,
		VARCHAR,
	]);

	/** The events as rows. The chunk is valid until the next call. */
	fill(events: readonly FrameEvent[]): DuckDBDataChunk {
		const chunk = this.#chunk;
		chunk.reset();
		chunk.rowCount = events.length;
		const ids = chunk.getColumnVector(0) as DuckDBUUIDVector;
		const times = chunk.getColumnVector(1) as DuckDBTimestampTZVector;
		const bodies = chunk.getColumnVector(2) as DuckDBBlobVector;
		const forms = chunk.getColumnVector(3) as DuckDBBooleanVector;
		const headers = chunk.getColumnVector(4) as DuckDBVarCharVector;
		const violations = chunk.getColumnVector(5) as DuckDBVarCharVector;
		for (const [row, event] of events.entries()) {
			ids.setItem(row, uuidOf(event.id));
			times.setItem(
				row,
				new DuckDBTimestampTZValue(BigInt(event.receivedAtMs * 1000)),
			);
			bodies.setItem(row, new DuckDBBlobValue(event.body));
			forms.setItem(row, event.kind === "form");
			headers.setItem(row, event.headers || null);
			violations.setItem(row, event.violations || null);
		}
		for (const vector of [ids, times, bodies, forms, headers, violations])
			vector.flush();
		return chunk;
	}
}

/** RFC 9562 §4: the 16 bytes are a number of 128 bits, most significant byte first. */
function uuidOf(id: Uint8Array): DuckDBUUIDValue {
	const bytes = Buffer.from(id.buffer, id.byteOffset, id.byteLength);
	return DuckDBUUIDValue.fromUint128(
		(bytes.readBigUInt64BE(0) << 64n) | bytes.readBigUInt64BE(8),
	);
}

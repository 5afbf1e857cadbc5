import {
	BLOB,
	BOOLEAN,
	DuckDBBlobValue,
	type DuckDBBlobVector,
	type DuckDBBooleanVector,
	DuckDBDataChunk,
	DuckDBTimestampTZValue,
	type DuckDBTimestampTZVector,
	DuckDBUUIDValue,
	type DuckDBUUIDVector,
	type DuckDBVarCharVector,
	TIMESTAMPTZ,
	UUID,
	VARCHAR,
} from "@duckdb/node-api";
import type { FrameEvent } from "../../wire/frame.ts";

/** Columns of the table that takes {@link EventChunk}s. SQL makes the other columns, faster. */
export const eventColumns = `
	id UUID NOT NULL,
	timestamp TIMESTAMPTZ NOT NULL,
	body BLOB NOT NULL,
	is_form BOOLEAN NOT NULL,
	headers VARCHAR,
	violations VARCHAR`;

/**
 * Rows for DuckDB, column by column. Bodies stay bytes: making, copying and collecting a string of each took more time than
 * all the rest.
 */
export class EventChunk {
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

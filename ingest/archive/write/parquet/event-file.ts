import { dayMs } from "../../../../packages/contracts/utc-date.ts";
import {
	columnElement,
	fileEnd,
	footerStruct,
	magic,
	ThriftStruct,
} from "../../../../packages/parquet/footer.ts";
import type { FrameEvent } from "../../../wire/frame-event.ts";
import { type ColumnChunk, columnChunk, type ParquetColumn } from "./column.ts";
import {
	byteArrays,
	bytesOf,
	lengthBytes,
	plain,
	times,
	uuidTexts,
} from "./page.ts";

/*
 * Parquet made here (github.com/apache/parquet-format): DuckDB takes 3 ms for a file, however small, and hyparquet-writer
 * twice as long as this (tools/bench/README.md).
 */

/** A reader holds one row group. */
const mostRows = 8_192;
const mostBytes = 4 * 1024 ** 2;

/** A Parquet file of these events, all of one date, sorted by timestamp and id. */
export async function eventFile(
	events: readonly FrameEvent[],
): Promise<Uint8Array> {
	const parts: Uint8Array[] = [magic];
	let offset = magic.length;
	const rowGroups: ThriftStruct[] = [];
	for (const rows of rowGroupsOf(events.toSorted(byTimeAndId))) {
		const chunks: ColumnChunk[] = [];
		const metadata: ThriftStruct[] = [];
		const start = offset;
		for (const column of columnsOf(rows)) {
			const chunk = await columnChunk(column);
			chunks.push(chunk);
			parts.push(...chunk.pages);
			metadata.push(chunk.metadata(offset));
			offset += chunk.bytes;
		}
		const bytes = chunks.reduce((sum, each) => sum + each.uncompressedBytes, 0);
		rowGroups.push(
			new ThriftStruct()
				.structs(1, metadata)
				.i64(2, bytes)
				.i64(3, rows.length)
				.i64(6, offset - start),
		);
	}
	const footer = footerStruct({
		children: columns.length,
		elements: columns.map(([name, type]) => columnElement(name, type)),
		rows: events.length,
		rowGroups,
	})
		.binary(6, "tidemill")
		// Bounds are in the order of the column's type.
		.structs(
			7,
			columns.map(() => new ThriftStruct().struct(1, new ThriftStruct())),
		);
	return Buffer.concat([...parts, fileEnd(footer)]);
}

/**
 * The id is text (8-4-4-4-12), since few readers know Parquet's UUID. JSON is text, byte for byte as received, or null. The
 * date is that of the timestamp in UTC.
 */
const columns = [
	["event_id", "text"],
	["timestamp", "timestamp"],
	["date", "date"],
	["body", "text"],
	["kind", "text"],
	["headers", "text"],
	["violations", "text"],
] as const;

/** Events arrive almost in this order. */
function byTimeAndId(a: FrameEvent, b: FrameEvent): number {
	return a.receivedAtMs - b.receivedAtMs || compareIds(a.id, b.id);
}

/** Most differ within a few bytes, and a call of Buffer.compare takes longer. */
function compareIds(a: Uint8Array, b: Uint8Array): number {
	for (let index = 0; index < a.length; index++) {
		const difference = a[index]! - b[index]!;
		if (difference !== 0) return difference;
	}
	return 0;
}

function* rowGroupsOf(
	events: readonly FrameEvent[],
): Generator<readonly FrameEvent[]> {
	let first = 0;
	let bytes = 0;
	for (let index = 0; index < events.length; index++) {
		const { length } = events[index]!.body;
		const isFull = index - first === mostRows || bytes + length > mostBytes;
		if (isFull && index > first) {
			yield events.slice(first, index);
			first = index;
			bytes = 0;
		}
		bytes += length;
	}
	yield events.slice(first);
}

/** Ids and bodies stay bytes: making, copying and collecting a string of each took more time than all the rest. */
function columnsOf(events: readonly FrameEvent[]): ParquetColumn[] {
	const rows = events.length;
	const date = Math.floor(events[0]!.receivedAtMs / dayMs);
	const ids = events.map(({ id }) => id);
	return [
		{
			name: "event_id",
			type: "BYTE_ARRAY",
			values: uuidTexts(ids),
			bounds: idBounds(ids),
			rows,
		},
		{
			name: "timestamp",
			type: "INT64",
			values: times(events.map(({ receivedAtMs }) => receivedAtMs)),
			bounds: [timeOf(events[0]!), timeOf(events.at(-1)!)],
			rows,
		},
		{
			name: "date",
			type: "INT32",
			values: plain(memoryOf(Int32Array.of(date))),
			indexes: Array(rows).fill(0),
			rows,
		},
		{
			name: "body",
			type: "BYTE_ARRAY",
			values: byteArrays(events.map(({ body }) => body)),
			rows,
		},
		kinds(events),
		texts(
			"headers",
			events.map(({ headers }) => headers),
		),
		texts(
			"violations",
			events.map(({ violations }) => violations),
		),
	];
}

function timeOf({ receivedAtMs }: FrameEvent): Uint8Array {
	return bytesOf(times([receivedAtMs]));
}

/**
 * The least and the greatest ID. IDs grow with the time of receipt, except that an event with a sender's key may have the ID of
 * an earlier attempt that wasn't stored: readers find it by these bounds.
 */
function idBounds(ids: readonly Uint8Array[]): [Uint8Array, Uint8Array] {
	let least = ids[0]!;
	let greatest = ids.at(-1)!;
	for (const id of ids) {
		if (compareIds(id, least) < 0) least = id;
		if (compareIds(id, greatest) > 0) greatest = id;
	}
	const textOf = (id: Uint8Array) =>
		bytesOf(uuidTexts([id])).subarray(lengthBytes);
	return [textOf(least), textOf(greatest)];
}

/** Little-endian, as all processors are that Node runs on. */
function memoryOf({ buffer, byteOffset, byteLength }: ArrayBufferView) {
	return new Uint8Array(buffer, byteOffset, byteLength);
}

function kinds(events: readonly FrameEvent[]): ParquetColumn {
	const first = events[0]!.kind;
	const indexes = events.map(({ kind }) => (kind === first ? 0 : 1));
	const other = events[indexes.indexOf(1)];
	const values = other ? [first, other.kind] : [first];
	return {
		name: "kind",
		type: "BYTE_ARRAY",
		values: byteArrays(values.map((kind) => Buffer.from(kind))),
		indexes,
		rows: events.length,
	};
}

/** Empty text is null. */
function texts(name: string, all: readonly string[]): ParquetColumn {
	const some = all.filter((text) => text !== "");
	return {
		name,
		type: "BYTE_ARRAY",
		values: byteArrays(some.map((text) => Buffer.from(text))),
		present: all.map((text) => text !== ""),
		rows: all.length,
	};
}

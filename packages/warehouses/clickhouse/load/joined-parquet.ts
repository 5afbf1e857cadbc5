import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";

/*
 * Parquet files as one, whose rows stay compressed: a footer says where each column of each row group is, so it is enough to
 * move these places (github.com/apache/parquet-format). Writing the same rows anew takes more CPU time than a server needs to load them.
 */

/** Files of one schema, whose rows can be in one. */
export interface ParquetUpload {
	files: string[];
	rows: number;
}

/** The columns of an object as archive writes it and DuckDB rewrites it: physical and converted types by parquet.thrift. */
const eventTypes: Readonly<Record<string, string>> = {
	// BYTE_ARRAY and UTF8; INT64 and TIMESTAMP_MICROS; INT32 and DATE.
	event_id: "6 0",
	timestamp: "2 10",
	date: "1 6",
	body: "6 0",
};

/**
 * Puts objects into as few uploads as have at most `maxBytes` each, unless one object alone has more. A server holds an upload in memory.
 * @returns undefined if an object has one of an event's columns in another type, so that its rows must be written anew.
 */
export async function parquetUploads(
	objects: readonly { file: string }[],
	maxBytes: number,
): Promise<ParquetUpload[] | undefined> {
	const uploads: ParquetUpload[] = [];
	/** By schema, those that may get more. */
	const latest = new Map<string, { upload: ParquetUpload; bytes: number }>();
	for (const { file } of objects) {
		const { fields, dataBytes } = await footerOf(file);
		const rows = numberOf(fields, id.rows);
		if (rows === 0) continue;
		const schema = bytesIn(fields, id.schema);
		if (!hasEventTypes(schema)) return undefined;
		const key = Buffer.from(schema).toString("latin1");
		let last = latest.get(key);
		if (!last || last.bytes + dataBytes > maxBytes) {
			last = { upload: { files: [], rows: 0 }, bytes: 0 };
			latest.set(key, last);
			uploads.push(last.upload);
		}
		last.upload.files.push(file);
		last.upload.rows += rows;
		last.bytes += dataBytes;
	}
	return uploads;
}

const readBytes = 1 << 20;

/** The bytes of one Parquet file with the rows of all. */
export function joinedParquet({ files }: ParquetUpload): Readable {
	const bytes = async function* () {
		yield magic;
		let offset = magic.length;
		let rows = 0;
		const rowGroups: Uint8Array[] = [];
		let first: Field[] | undefined;
		for (const file of files) {
			const { fields, dataBytes } = await footerOf(file);
			first ??= fields;
			rows += numberOf(fields, id.rows);
			const moved = offset - magic.length;
			for (const group of structsOf(bytesIn(fields, id.rowGroups)))
				rowGroups.push(structBytes(movedRowGroup(group, moved)));
			const [start, end] = [magic.length, magic.length + dataBytes - 1];
			if (dataBytes > 0)
				yield* createReadStream(file, { start, end, highWaterMark: readBytes });
			offset += dataBytes;
		}
		const footer = structBytes(
			first!.map((field) => {
				if (field.id === id.rows) return { ...field, value: numberBytes(rows) };
				return field.id === id.rowGroups
					? { ...field, value: listBytes(rowGroups) }
					: field;
			}),
		);
		const length = Buffer.alloc(4);
		length.writeUInt32LE(footer.length);
		yield Buffer.concat([footer, length, magic]);
	};
	return Readable.from(bytes(), {
		objectMode: false,
		highWaterMark: readBytes,
	});
}

const magic = Buffer.from("PAR1");

/** Of a file's metadata, by parquet.thrift. */
const id = { schema: 2, rows: 3, rowGroups: 4 };

function movedRowGroup(group: Field[], by: number): Field[] {
	return group.flatMap((field) => {
		switch (field.id) {
			case 1: {
				const columns = structsOf(field.value).map((column) =>
					structBytes(movedColumn(column, by)),
				);
				return [{ ...field, value: listBytes(columns) }];
			}
			case 5:
				return [moved(field, by)];
			// Its number in the file.
			case 7:
				return [];
			default:
				return [field];
		}
	});
}

function movedColumn(column: Field[], by: number): Field[] {
	return column.flatMap((field) => {
		switch (field.id) {
			case 2:
				return [moved(field, by)];
			case 3: {
				const metadata = new StructReader(field.value).struct();
				return [{ ...field, value: structBytes(movedMetadata(metadata, by)) }];
			}
			// The places of indexes, which a reader of all rows doesn't need.
			case 4:
			case 5:
			case 6:
			case 7:
				return [];
			default:
				return [field];
		}
	});
}

function movedMetadata(metadata: Field[], by: number): Field[] {
	return metadata.flatMap((field) => {
		switch (field.id) {
			// Of the data, an index and the dictionary.
			case 9:
			case 10:
			case 11:
				return [moved(field, by)];
			// Bloom filters.
			case 14:
			case 15:
				return [];
			default:
				return [field];
		}
	});
}

/** Some writers leave a place that no reader looks at 0. */
function moved(field: Field, by: number): Field {
	const offset = new StructReader(field.value).number();
	return offset === 0 ? field : { ...field, value: numberBytes(offset + by) };
}

function hasEventTypes(schema: Uint8Array): boolean {
	const [, ...elements] = structsOf(schema);
	const found = new Map(
		elements.map((element) => {
			const name = new StructReader(bytesIn(element, 4)).text();
			return [name, `${numberOf(element, 1)} ${numberOf(element, 6)}`];
		}),
	);
	return Object.entries(eventTypes).every(
		([name, type]) => found.get(name) === type,
	);
}

/** The file's metadata, and how many bytes are before it but for the first four. */
async function footerOf(
	file: string,
): Promise<{ fields: Field[]; dataBytes: number }> {
	const handle = await open(file);
	try {
		const { size } = await handle.stat();
		const read = async (length: number, from: number) => {
			const bytes = Buffer.alloc(length);
			await handle.read(bytes, 0, length, from);
			return bytes;
		};
		const tail = magic.length + 4;
		const length = (await read(4, size - tail)).readUInt32LE();
		const start = size - tail - length;
		const fields = new StructReader(await read(length, start)).struct();
		return { fields, dataBytes: start - magic.length };
	} finally {
		await handle.close();
	}
}

/** A field of a struct in Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md). */
interface Field {
	id: number;
	type: number;
	/** As it is written. */
	value: Uint8Array;
}

/** Absent numbers are -1. */
function numberOf(fields: readonly Field[], id: number): number {
	const field = fields.find((field) => field.id === id);
	return field ? new StructReader(field.value).number() : -1;
}

function bytesIn(fields: readonly Field[], id: number): Uint8Array {
	return fields.find((field) => field.id === id)?.value ?? new Uint8Array();
}

function structsOf(list: Uint8Array): Field[][] {
	const reader = new StructReader(list);
	return Array.from({ length: reader.list().length }, () => reader.struct());
}

class StructReader {
	readonly #bytes: Uint8Array;
	#at = 0;

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	struct(): Field[] {
		const fields: Field[] = [];
		for (let id = 0; ; ) {
			const head = this.#byte();
			if (head === 0) return fields;
			const type = head & 0x0f;
			id = head >> 4 ? id + (head >> 4) : this.number();
			const from = this.#at;
			// A field's boolean is its type.
			if (type > 2) this.#skip(type);
			fields.push({ id, type, value: this.#bytes.subarray(from, this.#at) });
		}
	}

	list(): { length: number; type: number } {
		const head = this.#byte();
		const length = head >> 4 === 15 ? this.#varint() : head >> 4;
		return { length, type: head & 0x0f };
	}

	/** Up to 2^52. */
	number(): number {
		const zigzag = this.#varint();
		return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
	}

	text(): string {
		const length = this.#varint();
		const bytes = this.#bytes.subarray(this.#at, this.#at + length);
		return Buffer.from(bytes).toString();
	}

	#skip(type: number): void {
		switch (type) {
			case 1:
			case 2:
			case 3:
				this.#at += 1;
				return;
			case 4:
			case 5:
			case 6:
				this.#varint();
				return;
			case 7:
				this.#at += 8;
				return;
			case 8: {
				const length = this.#varint();
				this.#at += length;
				return;
			}
			case 9:
			case 10: {
				const { length, type } = this.list();
				for (let item = 0; item < length; item++) this.#skip(type);
				return;
			}
			case 11: {
				const length = this.#varint();
				const types = length > 0 ? this.#byte() : 0;
				for (let item = 0; item < length; item++) {
					this.#skip(types >> 4);
					this.#skip(types & 0x0f);
				}
				return;
			}
			case 12:
				this.struct();
				return;
			default:
				throw new Error(`A Parquet file's footer has the type ${type}`);
		}
	}

	#varint(): number {
		let value = 0;
		for (let factor = 1; ; factor *= 0x80) {
			const byte = this.#byte();
			value += (byte & 0x7f) * factor;
			if (byte < 0x80) return value;
		}
	}

	#byte(): number {
		const byte = this.#bytes[this.#at++];
		if (byte === undefined)
			throw new Error("A Parquet file's footer ends too early");
		return byte;
	}
}

function structBytes(fields: readonly Field[]): Uint8Array {
	const parts: Uint8Array[] = [];
	let last = 0;
	for (const { id, type, value } of fields) {
		const step = id - last;
		parts.push(
			step > 0 && step < 16
				? Uint8Array.of((step << 4) | type)
				: Uint8Array.of(type, ...varint(2 * id)),
			value,
		);
		last = id;
	}
	return Buffer.concat([...parts, Uint8Array.of(0)]);
}

function listBytes(structs: readonly Uint8Array[]): Uint8Array {
	const struct = 12;
	const { length } = structs;
	const head =
		length < 15
			? Uint8Array.of((length << 4) | struct)
			: Uint8Array.of(0xf0 | struct, ...varint(length));
	return Buffer.concat([head, ...structs]);
}

function numberBytes(value: number): Uint8Array {
	return Uint8Array.from(varint(2 * value));
}

function varint(value: number): number[] {
	const bytes: number[] = [];
	let rest = value;
	for (; rest >= 0x80; rest = Math.floor(rest / 0x80))
		bytes.push((rest % 0x80) | 0x80);
	return [...bytes, rest];
}

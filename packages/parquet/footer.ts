// hyparquet: reads a footer as an object, and needs no other package.
import type { ColumnMetaData, ParquetType, RowGroup } from "hyparquet";
import {
	CompressionCodecs,
	ConvertedTypes,
	Encodings,
	ParquetTypes,
} from "hyparquet/src/constants.js";

/* The footer of a Parquet file, by github.com/apache/parquet-format, src/main/thrift/parquet.thrift. */

export const magic = Buffer.from("PAR1");

interface Footer {
	/** Of the root. */
	children: number;
	/** All below the root. */
	elements: readonly ThriftStruct[];
	rows: number;
	rowGroups: readonly ThriftStruct[];
}

export function footerStruct(footer: Footer): ThriftStruct {
	const { children, elements, rows, rowGroups } = footer;
	const root = new ThriftStruct().binary(4, "root").i32(5, children);
	return new ThriftStruct()
		.i32(1, 1)
		.structs(2, [root, ...elements])
		.i64(3, rows)
		.structs(4, rowGroups);
}

/** The end of a file: the footer, its length and the mark behind it. */
export function fileEnd(footer: ThriftStruct): Buffer {
	const bytes = Uint8Array.from(footer.end());
	const length = Buffer.alloc(4);
	length.writeUInt32LE(bytes.length);
	return Buffer.concat([bytes, length, magic]);
}

/** Types that every Parquet reader and warehouse knows: UTF-8 text, DATE, and TIMESTAMP in UTC with microseconds. */
export const columnTypes = {
	text: {
		physical: "BYTE_ARRAY",
		converted: "UTF8",
		logical: () => new ThriftStruct().struct(1, new ThriftStruct()),
	},
	date: {
		physical: "INT32",
		converted: "DATE",
		logical: () => new ThriftStruct().struct(6, new ThriftStruct()),
	},
	timestamp: {
		physical: "INT64",
		converted: "TIMESTAMP_MICROS",
		logical: () =>
			new ThriftStruct().struct(
				8,
				new ThriftStruct()
					.true(1)
					.struct(2, new ThriftStruct().struct(2, new ThriftStruct())),
			),
	},
} as const;

const optional = 1;

/** An optional column, as DuckDB makes all of them. */
export function columnElement(
	name: string,
	type: keyof typeof columnTypes,
): ThriftStruct {
	const { physical, converted, logical } = columnTypes[type];
	return new ThriftStruct()
		.i32(1, numberOfType(physical))
		.i32(3, optional)
		.binary(4, name)
		.i32(6, ConvertedTypes.indexOf(converted))
		.struct(10, logical());
}

/**
 * A row group of another file, or these columns of it, without statistics and places of indexes.
 * @param paths the columns' new names.
 * @param moved how many bytes further behind their pages are.
 */
export function rowGroupStruct(
	{ columns, ...group }: Pick<RowGroup, "columns" | RowGroupSize>,
	paths: readonly (readonly string[])[],
	moved = 0,
): ThriftStruct {
	const chunks = columns.map(({ file_offset, meta_data }, index) =>
		new ThriftStruct()
			.i64(2, Number(file_offset) + moved)
			.struct(3, chunkStruct(meta_data, paths[index], moved)),
	);
	return new ThriftStruct()
		.structs(1, chunks)
		.i64(2, Number(group.total_byte_size))
		.i64(3, Number(group.num_rows));
}

type RowGroupSize = "total_byte_size" | "num_rows";

function chunkStruct(
	column: ColumnMetaData | undefined,
	path: readonly string[] | undefined,
	moved: number,
): ThriftStruct {
	if (!column || !path) throw new Error("a column is encrypted or unknown");
	const struct = new ThriftStruct()
		.i32(1, numberOfType(column.type))
		.i32s(
			2,
			column.encodings.map((each) => Encodings.indexOf(each)),
		)
		.texts(3, path)
		.i32(4, CompressionCodecs.indexOf(column.codec))
		.i64(5, Number(column.num_values))
		.i64(6, Number(column.total_uncompressed_size))
		.i64(7, Number(column.total_compressed_size))
		.i64(9, Number(column.data_page_offset) + moved);
	// Some writers say 0 of a dictionary that isn't there.
	const { dictionary_page_offset: dictionary } = column;
	return dictionary ? struct.i64(11, Number(dictionary) + moved) : struct;
}

/** Values of INT96 stand there as those of 12 bytes do. */
export function numberOfType(type: ParquetType): number {
	return ParquetTypes.indexOf(type === "INT96" ? "FIXED_LEN_BYTE_ARRAY" : type);
}

/** Types of Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md). */
const typeOf = { true: 1, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 };

/** A struct in Thrift's compact protocol, which Parquet's metadata is in. Its numbers aren't negative. */
export class ThriftStruct {
	readonly #bytes: number[] = [];
	#lastField = 0;

	i32(field: number, value: number): this {
		return this.#field(field, "i32").#number(value);
	}

	i64(field: number, value: number): this {
		return this.#field(field, "i64").#number(value);
	}

	true(field: number): this {
		return this.#field(field, "true");
	}

	binary(field: number, value: Uint8Array | string): this {
		return this.#field(field, "binary").#binary(value);
	}

	struct(field: number, value: ThriftStruct): this {
		return this.#field(field, "struct").#push(value.end());
	}

	i32s(field: number, values: readonly number[]): this {
		this.#list(field, "i32", values.length);
		for (const value of values) this.#number(value);
		return this;
	}

	texts(field: number, values: readonly string[]): this {
		this.#list(field, "binary", values.length);
		for (const value of values) this.#binary(value);
		return this;
	}

	structs(field: number, values: readonly ThriftStruct[]): this {
		this.#list(field, "struct", values.length);
		for (const value of values) this.#push(value.end());
		return this;
	}

	/** The struct's bytes. Nothing can be added afterwards. */
	end(): readonly number[] {
		this.#bytes.push(0);
		return this.#bytes;
	}

	/** Fields come in the order of their ids, none more than 15 after the one before. */
	#field(field: number, type: keyof typeof typeOf): this {
		this.#bytes.push(((field - this.#lastField) << 4) | typeOf[type]);
		this.#lastField = field;
		return this;
	}

	#list(field: number, type: keyof typeof typeOf, length: number): void {
		this.#field(field, "list");
		if (length < 15) this.#bytes.push((length << 4) | typeOf[type]);
		else {
			this.#bytes.push(0xf0 | typeOf[type]);
			varint(this.#bytes, length);
		}
	}

	/** Zigzag: twice the number, since it isn't negative. */
	#number(value: number): this {
		varint(this.#bytes, 2 * value);
		return this;
	}

	#binary(value: Uint8Array | string): this {
		const bytes = Buffer.from(value);
		varint(this.#bytes, bytes.length);
		return this.#push(bytes);
	}

	#push(bytes: Iterable<number>): this {
		for (const byte of bytes) this.#bytes.push(byte);
		return this;
	}
}

/** Appends a number, up to 2^53, in groups of seven bits, the lowest first. */
export function varint(bytes: number[], value: number): void {
	let rest = value;
	for (; rest >= 0x80; rest = Math.floor(rest / 0x80))
		bytes.push((rest % 0x80) | 0x80);
	bytes.push(rest);
}

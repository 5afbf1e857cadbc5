// hyparquet: reads a footer as an object, and needs no other package.
import type { ColumnMetaData, ParquetType, RowGroup } from "hyparquet";
import {
	CompressionCodecs,
	ConvertedTypes,
	Encodings,
	ParquetTypes,
} from "hyparquet/src/constants.js";
import { ThriftStruct } from "./thrift.ts";

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

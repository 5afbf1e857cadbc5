import { ThriftStruct, varint } from "../../../../packages/parquet/footer.ts";
import {
	bytesOf,
	dataPage,
	type PlainValues,
	uncompressedPage,
} from "./page.ts";

/** Names and numbers of github.com/apache/parquet-format, src/main/thrift/parquet.thrift. */
export const physicalType = { INT32: 1, INT64: 2, BYTE_ARRAY: 6 };
const encoding = { PLAIN: 0, RLE: 3, RLE_DICTIONARY: 8 };
const codec = { UNCOMPRESSED: 0, ZSTD: 6 };
const pageType = { DATA_PAGE: 0, DICTIONARY_PAGE: 2 };

/** What a row group holds of a column. */
export interface ParquetColumn {
	name: string;
	type: keyof typeof physicalType;
	/** Those of all rows that have one or, if there are `indexes`, each different value once. */
	values: PlainValues;
	rows: number;
	/** Whether each row has a value; absent if all have. */
	present?: readonly boolean[];
	/** Each row's place among two different values. */
	indexes?: readonly (0 | 1)[];
	/** The least and the greatest value, in the encoding PLAIN. */
	bounds?: readonly [min: Uint8Array, max: Uint8Array];
}

/** A column's pages, which follow each other in the file, and what the file's footer says about them. */
export interface ColumnChunk {
	pages: Uint8Array[];
	bytes: number;
	uncompressedBytes: number;
	/** @param offset of the pages in the file. */
	metadata(offset: number): ThriftStruct;
}

/** Makes a dictionary page, if there are indexes, and a data page of all rows. */
export async function columnChunk(column: ParquetColumn): Promise<ColumnChunk> {
	const { name, type, values, rows, present, indexes, bounds } = column;
	const levels = runs(present ?? [true], present ? 1 : rows);
	const dictionary = indexes && [
		header(
			pageType.DICTIONARY_PAGE,
			values.bytes,
			values.bytes,
			7,
			new ThriftStruct().i32(1, dictionarySize(indexes)).i32(2, encoding.PLAIN),
		),
		bytesOf(values),
	];
	const head = Buffer.alloc(4 + levels.length);
	head.writeUInt32LE(levels.length);
	head.set(levels, 4);
	const page = await (indexes
		? // A bit for each index. The codec is that of the dictionary, too, which is too small for one.
			uncompressedPage(Buffer.concat([head, Buffer.of(1), runs(indexes)]))
		: dataPage(head, values));
	const dataHeader = header(
		pageType.DATA_PAGE,
		page.uncompressedBytes,
		page.content.length,
		5,
		new ThriftStruct()
			.i32(1, rows)
			.i32(2, indexes ? encoding.RLE_DICTIONARY : encoding.PLAIN)
			.i32(3, encoding.RLE)
			.i32(4, encoding.RLE),
	);
	const pages = [...(dictionary ?? []), dataHeader, page.content];
	const bytes = total(pages);
	const dictionaryBytes = total(dictionary ?? []);
	const uncompressedBytes =
		dictionaryBytes + dataHeader.length + page.uncompressedBytes;
	return {
		pages,
		bytes,
		uncompressedBytes,
		metadata: (offset) => {
			const chunk = new ThriftStruct()
				.i32(1, physicalType[type])
				.i32s(2, [
					encoding.PLAIN,
					encoding.RLE,
					...(indexes ? [encoding.RLE_DICTIONARY] : []),
				])
				.texts(3, [name])
				.i32(4, page.isCompressed ? codec.ZSTD : codec.UNCOMPRESSED)
				.i64(5, rows)
				.i64(6, uncompressedBytes)
				.i64(7, bytes)
				.i64(9, offset + dictionaryBytes);
			if (dictionary) chunk.i64(11, offset);
			if (bounds)
				chunk.struct(
					12,
					new ThriftStruct()
						.i64(3, 0)
						.binary(5, bounds[1])
						.binary(6, bounds[0]),
				);
			return new ThriftStruct().i64(2, offset).struct(3, chunk);
		},
	};
}

function header(
	type: number,
	bytes: number,
	packedBytes: number,
	field: number,
	details: ThriftStruct,
): Uint8Array {
	const page = new ThriftStruct()
		.i32(1, type)
		.i32(2, bytes)
		.i32(3, packedBytes);
	return Uint8Array.from(page.struct(field, details).end());
}

function dictionarySize(indexes: readonly (0 | 1)[]): number {
	return indexes.includes(1) ? 2 : 1;
}

function total(parts: readonly Uint8Array[]): number {
	return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Numbers of one bit as runs of equal ones (Encodings.md, "Run Length Encoding / Bit-Packing Hybrid"). */
function runs(bits: readonly (boolean | 0 | 1)[], times = 1): Uint8Array {
	const bytes: number[] = [];
	let start = 0;
	for (let end = 1; end <= bits.length; end++) {
		if (end < bits.length && bits[end] === bits[start]) continue;
		varint(bytes, 2 * (end - start) * times);
		bytes.push(Number(bits[start]));
		start = end;
	}
	return Uint8Array.from(bytes);
}

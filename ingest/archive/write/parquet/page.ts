import { promisify } from "node:util";
import { constants, zstdCompress, zstdCompressSync } from "node:zlib";

export interface ParquetPage {
	/** Compressed, unless that makes the page no smaller. */
	content: Uint8Array;
	uncompressedBytes: number;
	isCompressed: boolean;
}

/** A data page: what precedes its values, and the values. */
export async function dataPage(
	head: Uint8Array,
	values: PlainValues,
): Promise<ParquetPage> {
	const uncompressedBytes = head.length + values.bytes;
	const space = takeSpace(uncompressedBytes);
	try {
		const page = space.subarray(0, uncompressedBytes);
		page.set(head);
		values.writeTo(page, head.length);
		const packing = compressed(page);
		// Even a wait for nothing would let another file write into the space of small pages.
		const packed = packing instanceof Promise ? await packing : packing;
		const isCompressed = packed.length < uncompressedBytes;
		const content = isCompressed ? packed : Uint8Array.from(page);
		return { content, uncompressedBytes, isCompressed };
	} finally {
		if (space.length === largeBytes) large = space;
	}
}

export function uncompressedPage(content: Uint8Array): ParquetPage {
	const { length: uncompressedBytes } = content;
	return { content, uncompressedBytes, isCompressed: false };
}

/** Below, the way to another thread takes longer than to compress. */
const fewBytes = 64 * 1024;
/** A row group's bodies with their lengths. Only a single body is larger. */
const largeBytes = 4.25 * 1024 ** 2;

const small = Buffer.allocUnsafeSlow(fewBytes);
/** Kept, since new memory costs a page fault for every 4 KiB. Undefined before there is one, and while a page is in it. */
let large: Buffer | undefined;

/** Space for so many bytes. Small pages are compressed before another one comes. */
function takeSpace(bytes: number): Buffer {
	if (bytes < fewBytes) return small;
	if (bytes > largeBytes) return Buffer.allocUnsafeSlow(bytes);
	const space = large ?? Buffer.allocUnsafeSlow(largeBytes);
	large = undefined;
	return space;
}

/** Twice as fast as zstd's default of 3, for files that are 4 to 15 % larger (tools/bench/README.md). */
const params = { [constants.ZSTD_c_compressionLevel]: 2 };
const compressElsewhere = promisify(zstdCompress);

/** The header of a zstd frame takes more than such a page can lose. */
const leastBytes = 32;

/** Without a wait for a small page. */
function compressed(page: Buffer): Uint8Array | Promise<Uint8Array> {
	if (page.length < leastBytes) return page;
	if (page.length < fewBytes) return zstdCompressSync(page, { params });
	// Each chunk of output is a way to the other thread and back.
	return compressElsewhere(page, { params, chunkSize: page.length >> 1 });
}

/** Values in the encoding PLAIN. They are written where they are compressed, so that large ones are copied once. */
export interface PlainValues {
	bytes: number;
	/** Writes so many bytes from `at` on. */
	writeTo(page: Buffer, at: number): void;
}

export function plain(bytes: Uint8Array): PlainValues {
	return {
		bytes: bytes.length,
		writeTo: (page, at) => page.set(bytes, at),
	};
}

export function bytesOf(values: PlainValues): Uint8Array {
	const bytes = Buffer.allocUnsafe(values.bytes);
	values.writeTo(bytes, 0);
	return bytes;
}

export const lengthBytes = 4;

/** Microseconds since the epoch as INT64, in the halves that JavaScript's numbers have. */
export function times(timesMs: readonly number[]): PlainValues {
	return {
		bytes: 8 * timesMs.length,
		writeTo(page, start) {
			let at = start;
			for (const ms of timesMs) {
				const micros = ms * 1000;
				at = page.writeUInt32LE(micros % 2 ** 32, at);
				at = page.writeUInt32LE(Math.floor(micros / 2 ** 32), at);
			}
		},
	};
}

/** Each with its length before it. */
export function byteArrays(values: readonly Uint8Array[]): PlainValues {
	return {
		bytes: values.reduce((sum, { length }) => sum + lengthBytes + length, 0),
		writeTo(page, start) {
			let at = start;
			for (const value of values) {
				at = page.writeUInt32LE(value.length, at);
				page.set(value, at);
				at += value.length;
			}
		},
	};
}

const uuidBytes = 36;
const hyphen = "-".charCodeAt(0);
const hexDigits = Buffer.from("0123456789abcdef");

/** RFC 9562 §4: 8-4-4-4-12 digits. */
export function uuidTexts(ids: readonly Uint8Array[]): PlainValues {
	return {
		bytes: ids.length * (lengthBytes + uuidBytes),
		writeTo(page, start) {
			let at = start;
			for (const id of ids) {
				at = page.writeUInt32LE(uuidBytes, at);
				for (let index = 0; index < id.length; index++) {
					if (index === 4 || index === 6 || index === 8 || index === 10)
						page[at++] = hyphen;
					const byte = id[index]!;
					page[at++] = hexDigits[byte >> 4]!;
					page[at++] = hexDigits[byte & 15]!;
				}
			}
		},
	};
}

import { promisify } from "node:util";
import { constants, zstdCompress, zstdCompressSync } from "node:zlib";
import type { Values } from "./values.ts";

export interface Page {
	/** Compressed, unless that makes the page no smaller. */
	content: Uint8Array;
	uncompressedBytes: number;
	isCompressed: boolean;
}

/** A data page: what precedes its values, and the values. */
export async function dataPage(
	head: Uint8Array,
	values: Values,
): Promise<Page> {
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

export function uncompressedPage(content: Uint8Array): Page {
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

/** Twice as fast as zstd's default of 3, for files that are 4 to 15 % larger (tools/bench/README.md, archive). */
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

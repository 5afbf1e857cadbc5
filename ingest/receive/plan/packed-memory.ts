import { zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Compressed, in memory that threads share: a plan's code shrinks to a thirtieth, and most plans rarely judge. */
export function packed(
	content: Uint8Array | string,
): Uint8Array<SharedArrayBuffer> {
	const bytes = zstdCompressSync(content);
	const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
	shared.set(bytes);
	return shared;
}

export function unpacked(bytes: Uint8Array<SharedArrayBuffer>): Buffer {
	return zstdDecompressSync(bytes);
}

import { zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** In memory that the threads share. A plan's code takes a thirtieth of its size so, and most plans seldom judge. */
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

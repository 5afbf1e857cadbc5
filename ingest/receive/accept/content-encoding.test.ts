import {
	brotliCompressSync,
	constants,
	deflateRawSync,
	deflateSync,
	gzipSync,
	zstdCompressSync,
} from "node:zlib";
import { describe, expect, test } from "vitest";
import { refusals } from "../answer/refusal.ts";
import {
	type ContentEncoding,
	contentEncoding,
	decompress,
	maxDecompressedBytes,
} from "./content-encoding.ts";

/** Its usual quality takes a second for a bomb. */
const compressBrotli = (bytes: Buffer) =>
	brotliCompressSync(bytes, {
		params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
	});
const body = Buffer.from(JSON.stringify({ text: "Käse ".repeat(1_000) }));

test("a body decompresses to no more than 100 times its size, unless that is little", async () => {
	const zeros = compressBrotli(Buffer.alloc(64 * 1024));
	expect(await decompress("br", zeros, 1_000_000)).toHaveLength(64 * 1024);
	const bomb = compressBrotli(Buffer.alloc(64 * 1024 + 1));
	expect(await decompress("br", bomb, 1_000_000)).toBe(
		refusals.CompressionTooHigh,
	);
	expect(maxDecompressedBytes(10, 1_000_000)).toBe(64 * 1024);
	expect(maxDecompressedBytes(1_000, 1_000_000)).toBe(100_000);
	expect(maxDecompressedBytes(20_000, 1_000_000)).toBe(1_000_000);
});

test("an encoding is recognised in any letter case; several encodings or unknown ones are refused", () => {
	expect(contentEncoding(undefined)).toBeUndefined();
	expect(contentEncoding("Identity")).toBeUndefined();
	expect(contentEncoding(" GZip ")).toBe("gzip");
	expect(contentEncoding("x-gzip")).toBe("gzip");
	for (const name of ["gzip, br", "compress", "", "constructor"])
		expect(contentEncoding(name)).toBe(refusals.UnsupportedContentEncoding);
});

describe.each<[ContentEncoding, string, (bytes: Buffer) => Buffer]>([
	["gzip", "gzip", (bytes) => gzipSync(bytes)],
	["deflate", "zlib", (bytes) => deflateSync(bytes)],
	["deflate", "bare", (bytes) => deflateRawSync(bytes)],
	["br", "brotli", compressBrotli],
	["zstd", "zstd", (bytes) => zstdCompressSync(bytes)],
])("%s (%s)", (encoding, _, compress) => {
	const compressed = compress(body);

	test("decompresses up to exactly the limit", async () => {
		expect(await decompress(encoding, compressed, body.length)).toEqual(body);
		expect(await decompress(encoding, compressed, body.length - 1)).toBe(
			refusals.BodyTooLarge,
		);
	});

	test("refuses a bomb without decompressing all of it", async () => {
		const bomb = compress(Buffer.alloc(16 * 1024 * 1024));
		const before = process.memoryUsage().arrayBuffers;
		expect([refusals.BodyTooLarge, refusals.CompressionTooHigh]).toContain(
			await decompress(encoding, bomb, 1_000_000),
		);
		expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(
			8 * 1024 * 1024,
		);
	});

	test("refuses a body that is incomplete, too long, or something else", async () => {
		for (const bytes of [
			compressed.subarray(0, -2),
			compressed.subarray(0, 3),
			Buffer.concat([compressed, Buffer.from("x!")]),
			Buffer.from('{"plain":true}'),
			Buffer.alloc(0),
		])
			expect(await decompress(encoding, bytes, 1_000_000)).toBe(
				refusals.InvalidCompression,
			);
	});
});

import {
	brotliCompressSync,
	constants,
	deflateRawSync,
	deflateSync,
	gzipSync,
	zstdCompressSync,
} from "node:zlib";
import { describe, expect, test } from "vitest";
import {
	type ContentEncoding,
	contentEncoding,
	decompress,
	maxDecompressedBytes,
} from "./content-encoding.ts";
import { refusals } from "./refusal.ts";

/** The decompressed body, or why it is refused. */
async function decompressed(
	...[encoding, body, maxBodyBytes, take = () => true]: [
		ContentEncoding,
		Buffer,
		number,
		((bytes: number) => boolean)?,
	]
) {
	const result = await decompress(encoding, body, maxBodyBytes, take);
	return "status" in result ? result : Buffer.concat(result);
}

/** Its usual quality takes a second for a bomb. */
const compressBrotli = (bytes: Buffer) =>
	brotliCompressSync(bytes, {
		params: { [constants.BROTLI_PARAM_QUALITY]: 4 },
	});
const body = Buffer.from(JSON.stringify({ text: "Käse ".repeat(1_000) }));

test("a body decompresses to no more than 100 times its size, unless that is little", async () => {
	const zeros = compressBrotli(Buffer.alloc(64 * 1024));
	expect(await decompressed("br", zeros, 1_000_000)).toHaveLength(64 * 1024);
	const bomb = compressBrotli(Buffer.alloc(64 * 1024 + 1));
	expect(await decompressed("br", bomb, 1_000_000)).toBe(
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
	for (const name of ["gzip, br", "compress", "gzip, gzip", "constructor"])
		expect(contentEncoding(name)).toBe(refusals.UnsupportedContentEncoding);
});

test("identity and empty elements of Content-Encoding count for nothing", () => {
	for (const name of ["", " , ", "identity, identity", "identity,"])
		expect(contentEncoding(name)).toBeUndefined();
	expect(contentEncoding("gzip, identity")).toBe("gzip");
	expect(contentEncoding("identity, , x-gzip")).toBe("gzip");
});

test("a gzip body may have several members, empty ones too, and zeros behind them, but nothing else", async () => {
	const large = Buffer.from(Array.from({ length: 40_000 }, (_, n) => n * n));
	const members = [large, "", large.subarray(0, 16_384), '{"a":1}', ""];
	const file = Buffer.concat(members.map((member) => gzipSync(member)));
	const whole = Buffer.concat(members.map((member) => Buffer.from(member)));
	expect(await decompressed("gzip", file, 1_000_000)).toEqual(whole);
	const padded = Buffer.concat([file, Buffer.alloc(512)]);
	expect(await decompressed("gzip", padded, 1_000_000)).toEqual(whole);
	for (const rest of ["x", "\0x", "{}", file.subarray(0, -1)]) {
		const more = Buffer.concat([file, Buffer.from(rest)]);
		expect(await decompressed("gzip", more, 1_000_000)).toBe(
			refusals.InvalidCompression,
		);
	}
	const bomb = Buffer.concat(
		Array.from({ length: 100 }, () => gzipSync(Buffer.alloc(60_000))),
	);
	expect(await decompressed("gzip", bomb, 10_000_000)).toBe(
		refusals.CompressionTooHigh,
	);
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
		expect(await decompressed(encoding, compressed, body.length)).toEqual(body);
		expect(
			await decompressed(encoding, compressed, body.length - 1),
		).toMatchObject({ code: "BodyTooLarge" });
	});

	test("takes memory for what it decompresses to, as it comes", async () => {
		const small = compress(Buffer.from("[1]"));
		let taken = 0;
		const take = (bytes: number) => {
			taken += bytes;
			return taken <= 100_000;
		};
		expect(await decompressed(encoding, small, 1_000_000, take)).toHaveLength(
			3,
		);
		expect(taken).toBe(3);
		const random = Buffer.from(
			Array.from({ length: 300_000 }, () => Math.floor(Math.random() * 256)),
		);
		expect(await decompressed(encoding, compress(random), 1e6, take)).toBe(
			refusals.Overloaded,
		);
		expect(taken).toBeLessThan(200_000);
	});

	test("refuses a bomb without decompressing all of it", async () => {
		const bomb = compress(Buffer.alloc(16 * 1024 * 1024));
		const before = process.memoryUsage().arrayBuffers;
		expect(await decompressed(encoding, bomb, 1_000_000)).toMatchObject({
			code: expect.stringMatching(/^(BodyTooLarge|CompressionTooHigh)$/),
		});
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
			expect(await decompressed(encoding, bytes, 1_000_000)).toBe(
				refusals.InvalidCompression,
			);
	});
});

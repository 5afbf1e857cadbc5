import type { Transform } from "node:stream";
import {
	constants,
	createBrotliDecompress,
	createGunzip,
	createInflate,
	createInflateRaw,
	createZstdDecompress,
} from "node:zlib";
import { bodyTooLarge, type RequestRefusal, refusals } from "./refusal.ts";

export type ContentEncoding = "gzip" | "deflate" | "br" | "zstd";

const encodings = new Map<string, ContentEncoding>([
	["gzip", "gzip"],
	// RFC 9110 §8.4.1.3: the same as gzip.
	["x-gzip", "gzip"],
	["deflate", "deflate"],
	["br", "br"],
	["zstd", "zstd"],
]);

/** Reads a Content-Encoding header; undefined for an uncompressed body. */
export function contentEncoding(
	header: string | undefined,
): ContentEncoding | undefined | RequestRefusal {
	if (header === undefined) return undefined;
	// RFC 9110 §5.6.1: empty elements count for nothing, and neither does identity.
	const names = header
		.split(",")
		.map((name) => name.trim().toLowerCase())
		.filter((name) => name !== "" && name !== "identity");
	if (names.length === 0) return undefined;
	const encoding = names.length === 1 ? encodings.get(names[0]!) : undefined;
	return encoding ?? refusals.UnsupportedContentEncoding;
}

/** A bomb decompresses to a thousand times its size (gzip to 1,032 times), real JSON to far less. */
const maxRatio = 100;
/** A short body may repeat itself. */
const alwaysAllowedBytes = 64 * 1024;

/** To how many bytes a body may decompress: to 100 times its size, and no further than `maxBodyBytes`. */
export function maxDecompressedBytes(
	sentBytes: number,
	maxBodyBytes: number,
): number {
	const allowed = Math.max(alwaysAllowedBytes, sentBytes * maxRatio);
	return Math.min(allowed, maxBodyBytes);
}

/**
 * Decompresses off the event loop, to {@link maxDecompressedBytes} at most, however small the body is (a bomb).
 *
 * @param take takes bytes of receive's memory, as they come; false when there is no room.
 */
export function decompress(
	encoding: ContentEncoding,
	body: Buffer,
	maxBodyBytes: number,
	take: (bytes: number) => boolean,
): Promise<Buffer[] | RequestRefusal> {
	const maxBytes = maxDecompressedBytes(body.length, maxBodyBytes);
	const { promise, resolve } = Promise.withResolvers<
		Buffer[] | RequestRefusal
	>();
	const stream = decompressors[encoding](body) as Decompressor;
	const refuse = (refusal: RequestRefusal) => {
		resolve(refusal);
		stream.destroy();
	};
	const parts: Buffer[] = [];
	let bytes = 0;
	stream.on("data", (part: Buffer) => {
		bytes += part.length;
		if (bytes > maxBytes)
			refuse(
				maxBytes < maxBodyBytes
					? refusals.CompressionTooHigh
					: bodyTooLarge(maxBodyBytes),
			);
		else if (take(part.length)) parts.push(part);
		else refuse(refusals.Overloaded);
	});
	// A short part would keep the whole buffer that zlib made for it.
	stream.on("end", () => {
		if (isPadding(body.subarray(stream.bytesWritten)))
			resolve(parts.length > 1 ? parts : [Buffer.concat(parts)]);
		else refuse(refusals.InvalidCompression);
	});
	stream.on("error", () => refuse(refusals.InvalidCompression));
	stream.end(body);
	return promise;
}

/** What isn't read of a body of several members must be zeros, as tar and tapes fill up their blocks. */
function isPadding(rest: Buffer): boolean {
	return rest.every((byte) => byte === 0);
}

interface Decompressor extends Transform {
	/** Bytes of the body that were read. */
	bytesWritten: number;
}

const limits = { rejectGarbageAfterEnd: true };

const decompressors: Record<ContentEncoding, (body: Buffer) => Transform> = {
	// RFC 1952 §2.2: one member or several. node:zlib takes the next for garbage if it is told to reject that.
	gzip: () => createGunzip(),
	// RFC 9110 §8.4.1.2: a zlib stream. Some senders leave out its header.
	deflate: (body) =>
		hasZlibHeader(body) ? createInflate(limits) : createInflateRaw(limits),
	br: () => createBrotliDecompress(limits),
	zstd: () =>
		createZstdDecompress({
			...limits,
			// RFC 9659 §3: no window larger than 8 MB, since the decoder has to hold it.
			params: { [constants.ZSTD_d_windowLogMax]: 23 },
		}),
};

/** RFC 1950 §2.2: the method is deflate, and the first two bytes form a multiple of 31. */
function hasZlibHeader(body: Buffer): boolean {
	return (
		body.length >= 2 &&
		(body[0]! & 0x0f) === 8 &&
		body.readUInt16BE(0) % 31 === 0
	);
}

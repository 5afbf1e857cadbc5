import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { crc32 } from "node:zlib";
import { type LongWork, stepBytes } from "../admission/long-work.ts";

/** What a template's placeholders stand for, beside the body. */
export interface SignedHead {
	headers: IncomingHttpHeaders;
	/** The URL as its sender called it, up to the question mark. */
	url: string;
	/** Everything after the question mark. */
	query: string | undefined;
	/** The time of signing as it was sent. */
	timestamp: string | undefined;
}

/** The body as it was sent. */
export interface SignedBody {
	parts: readonly Uint8Array[];
	/** The string or integer there, if the body is JSON or a form. */
	textAt(pointer: string): LongWork<string | undefined>;
}

/** A signed text: its bytes, with the raw body between each part and the next. Or what the request lacks. */
export type SignedText = { parts: Buffer[] } | { missing: string };

interface Placeholder {
	name: string;
	/** What follows the name's colon; empty for nothing. */
	argument: string;
}

/**
 * Of a signed text beside the body. A head has at most 16 KiB, so only a template that repeats much of it, or a long value in
 * the body, has more.
 */
const maxFilledBytes = 20 * 1024;

/** Letters after a brace begin a placeholder. Any other brace stands for itself. */
const placeholder = /\{([A-Za-z]+)(?::([^{}]*))?\}/;

/** The signed text of a Source's own scheme, such as `{timestamp}.{body}`, taken apart. */
export class SignedString {
	/** Whether more than the head and the raw body must be known: it must be read before anything can be checked. */
	readonly readsBody: boolean;
	/** Text and placeholders in turn. */
	readonly #pieces: readonly (string | Placeholder)[];

	/** Throws if a placeholder is of a later version. */
	constructor(template: string) {
		// Text, name, argument, text, and so on.
		const split = template.split(placeholder);
		this.#pieces = split.flatMap((text, n): (string | Placeholder)[] => {
			if (n % 3 === 0) return [text];
			if (n % 3 === 2) return [];
			return [placeholderOf(text, split[n + 1] ?? "")];
		});
		this.readsBody = this.#pieces.some(
			(piece) => typeof piece === "object" && inBody.has(piece.name),
		);
	}

	/** @param body may be left out unless {@link readsBody}. */
	*fill(head: SignedHead, body?: SignedBody): LongWork<SignedText> {
		const parts: Buffer[][] = [[]];
		let bytes = 0;
		for (const piece of this.#pieces) {
			if (typeof piece === "object" && piece.name === "body") parts.push([]);
			else {
				const value =
					typeof piece === "string"
						? Buffer.from(piece)
						: (headValue(piece, head) ??
							(body && (yield* bodyValue(piece, body))));
				bytes += value?.length ?? 0;
				if (!value || bytes > maxFilledBytes)
					return { missing: wordsOf(piece as Placeholder) };
				parts.at(-1)!.push(value);
			}
		}
		return { parts: parts.map((pieces) => Buffer.concat(pieces)) };
	}
}

const inHead = new Set([
	"method",
	"url",
	"path",
	"query",
	"timestamp",
	"header",
]);
const inBody = new Set(["bodyDigest", "bodyPointer"]);

function placeholderOf(name: string, argument: string): Placeholder {
	if (name !== "body" && !inHead.has(name) && !inBody.has(name))
		throw new Error(
			`this receive doesn't know the placeholder {${name}}: upgrade receive before operator`,
		);
	return { name, argument };
}

/** Undefined if the request lacks it, or the head does. */
function headValue(
	{ name, argument }: Placeholder,
	{ headers, url, query, timestamp }: SignedHead,
): Buffer | undefined {
	switch (name) {
		case "method":
			// No other method brings an event.
			return Buffer.from("POST");
		case "url":
			return sentBytes(query === undefined ? url : `${url}?${query}`);
		case "path":
			return sentBytes(new URL(url).pathname);
		case "query":
			return sentBytes(query ?? "");
		case "timestamp":
			return timestamp === undefined ? undefined : sentBytes(timestamp);
		case "header": {
			const value = headers[argument.toLowerCase()];
			return typeof value === "string" ? sentBytes(value) : undefined;
		}
		default:
			return undefined;
	}
}

/** node:http decodes a request's head as Latin-1, so this restores the bytes that were sent. */
export function sentBytes(text: string): Buffer {
	return Buffer.from(text, "latin1");
}

function* bodyValue(
	{ name, argument }: Placeholder,
	body: SignedBody,
): LongWork<Buffer | undefined> {
	if (name === "bodyPointer") {
		const text = yield* body.textAt(argument);
		return text === undefined ? undefined : Buffer.from(text);
	}
	if (name !== "bodyDigest") return undefined;
	return Buffer.from(
		argument === "crc32"
			? String(yield* crc32Of(body.parts))
			: yield* sha256Of(body.parts),
	);
}

/** In hexadecimal. */
export function* sha256Of(parts: readonly Uint8Array[]): LongWork<string> {
	const digest = createHash("sha256");
	for (const piece of shortPieces(parts)) {
		digest.update(piece);
		yield piece.length;
	}
	return digest.digest("hex");
}

/** developer.paypal.com, "Self verification method" of webhooks: the CRC-32 in decimal. */
function* crc32Of(parts: readonly Uint8Array[]): LongWork<number> {
	let sum = 0;
	for (const piece of shortPieces(parts)) {
		sum = crc32(piece, sum);
		yield piece.length;
	}
	return sum;
}

/** The same bytes in pieces of at most {@link stepBytes}. */
export function* shortPieces(
	parts: readonly Uint8Array[],
): Generator<Uint8Array, void> {
	for (const part of parts)
		for (let at = 0; at < part.length; at += stepBytes)
			yield part.subarray(at, at + stepBytes);
}

function wordsOf({ name, argument }: Placeholder): string {
	return argument === "" ? `{${name}}` : `{${name}:${argument}}`;
}

import { type LongWork, stepBytes } from "../admission/long-work.ts";
import { jsonScan } from "./generated/json-scan.ts";

/**
 * Whether UTF-8 bytes are one JSON value (RFC 8259), with white space around it. It makes neither a string nor a tree, as
 * JSON.parse does.
 */
export function isJSON(text: Uint8Array): boolean {
	shared.restart();
	return shared.read(text) && shared.isWhole;
}

/**
 * Reads a JSON text in pieces of any size. It visits each byte once, takes about the same time for each, and holds one bit
 * for each open bracket, so that no text is slow and no depth is too deep.
 */
export class JSONScanner {
	#state = value;
	#depth = 0;
	/** For each open bracket, whether it is an object's. */
	#objects = new Uint8Array(32);

	/** Begins another text. */
	restart(): void {
		this.#state = value;
		this.#depth = 0;
	}

	/** Reads the next bytes; false when no JSON text begins with the bytes so far. */
	read(bytes: Uint8Array): boolean {
		if (bytes.length <= maxPieceBytes) return this.#readPiece(bytes);
		for (let at = 0; at < bytes.length; at += maxPieceBytes)
			if (!this.#readPiece(bytes.subarray(at, at + maxPieceBytes)))
				return false;
		return true;
	}

	/** Reads the longest beginning of the bytes that can begin a JSON text, and returns its length. */
	readValid(bytes: Uint8Array): number {
		let at = 0;
		while (at < bytes.length) {
			// A piece that isn't valid leaves all as it was.
			let size = Math.min(maxPieceBytes, bytes.length - at);
			while (size > 0 && !this.#readPiece(bytes.subarray(at, at + size)))
				size >>= 1;
			if (size === 0) break;
			at += size;
		}
		return at;
	}

	/** What may come next, for people. */
	get expected(): string {
		const state = this.#state;
		const inner = this.#depth - 1;
		const isObject = (this.#objects[inner >> 3]! >> (inner & 7)) & 1;
		const after =
			inner < 0
				? "the end of the body"
				: isObject
					? '"," or "}"'
					: '"," or "]"';
		if (state >= literals) return "the rest of true, false or null";
		if (state >= escaped)
			return (state - escaped) % 5 === 0
				? 'one of " \\ / b f n r t u after the backslash'
				: "a hexadecimal digit";
		return expected[state]!.replace("after", after);
	}

	/** Whether the bytes so far are one whole value. */
	get isWhole(): boolean {
		return this.#depth === 0 && table[(this.#state << 8) | 0x20] === afterValue;
	}

	#readPiece(piece: Uint8Array): boolean {
		// It can close no bracket before these.
		const outer = Math.max(0, this.#depth - maxPieceBytes) >> 3;
		const inner = this.#depth - outer * 8;
		if (inner > 0)
			memory.set(this.#objects.subarray(outer, outer + bytesOf(inner)), openAt);
		memory.set(piece, pieceAt);
		const result = scan.read(this.#state, inner, piece.length);
		if (result < 0) return false;
		this.#state = result & 63;
		const left = result >> 6;
		this.#depth = outer * 8 + left;
		if (left > 0) this.#keep(outer, bytesOf(left));
		return true;
	}

	#keep(from: number, length: number): void {
		if (from + length > this.#objects.length) {
			const larger = new Uint8Array((from + length) * 2);
			larger.set(this.#objects);
			this.#objects = larger;
		}
		this.#objects.set(memory.subarray(openAt, openAt + length), from);
	}
}

function bytesOf(bits: number): number {
	return (bits + 7) >> 3;
}

// What the bytes so far are, or what may come next.
const inString = 0;
const inName = 1;
const value = 2;
/** A value, or the end of an empty array. */
const firstElement = 3;
/** A name, or the end of an empty object. */
const firstName = 4;
const name = 5;
const afterName = 6;
const afterValue = 7;
const minus = 8;
const zero = 9;
const integer = 10;
const dot = 11;
const fraction = 12;
const exponentMark = 13;
const exponentSign = 14;
const exponent = 15;
/** After a backslash, and before each hexadecimal digit; in a name the same, five further on. */
const escaped = 16;
/** Before each further letter of true, false and null. */
const literals = escaped + 2 * 5;
const firstAction = literals + 10;
const openObject = firstAction;
const openArray = firstAction + 1;
const closeObject = firstAction + 2;
const closeArray = firstAction + 3;
const nextItem = firstAction + 4;
const wrong = firstAction + 5;

/** The next state, or an action, by state (RFC 8259 §2 to §7) and byte. json-scan.wat has the same numbers. */
const table = new Uint8Array(firstAction << 8).fill(wrong);

const digits = "0123456789";
const hexDigits = `${digits}abcdefABCDEF`;

for (const state of [
	value,
	firstElement,
	firstName,
	name,
	afterName,
	afterValue,
])
	on(state, " \t\n\r", state);
for (const state of [value, firstElement]) {
	on(state, "{", openObject);
	on(state, "[", openArray);
	on(state, '"', inString);
	on(state, "-", minus);
	on(state, "0", zero);
	on(state, "123456789", integer);
}
on(firstElement, "]", closeArray);
for (const state of [firstName, name]) on(state, '"', inName);
on(firstName, "}", closeObject);
on(afterName, ":", value);
// A number has no end of its own.
for (const state of [afterValue, zero, integer, fraction, exponent]) {
	on(state, " \t\n\r", afterValue);
	on(state, ",", nextItem);
	on(state, "}", closeObject);
	on(state, "]", closeArray);
}

on(minus, "0", zero);
on(minus, "123456789", integer);
on(integer, digits, integer);
for (const state of [zero, integer]) on(state, ".", dot);
for (const state of [dot, fraction]) on(state, digits, fraction);
for (const state of [zero, integer, fraction]) on(state, "eE", exponentMark);
on(exponentMark, "+-", exponentSign);
for (const state of [exponentMark, exponentSign, exponent])
	on(state, digits, exponent);

for (const [string, end, first] of [
	[inString, afterValue, escaped],
	[inName, afterName, escaped + 5],
] as const) {
	table.fill(string, (string << 8) | 0x20, (string + 1) << 8);
	on(string, '"', end);
	on(string, "\\", first);
	on(first, '"\\/bfnrt', string);
	on(first, "u", first + 1);
	for (let digit = 1; digit < 4; digit++)
		on(first + digit, hexDigits, first + digit + 1);
	on(first + 4, hexDigits, string);
}

/** By state, with "after" for what follows a value. */
const expected: Record<number, string> = {
	[inString]: "a closing quote (control characters must be escaped)",
	[inName]: "a closing quote (control characters must be escaped)",
	[value]: "a value",
	[firstElement]: 'a value or "]"',
	[firstName]: 'a name in double quotes or "}"',
	[name]: "a name in double quotes",
	[afterName]: '":"',
	[afterValue]: "after",
	[minus]: "a digit",
	[zero]: "after",
	[integer]: "a digit or after",
	[dot]: "a digit",
	[fraction]: "a digit or after",
	[exponentMark]: "a digit or a sign",
	[exponentSign]: "a digit",
	[exponent]: "a digit or after",
};

let next = literals;
for (const word of ["true", "false", "null"]) {
	for (const state of [value, firstElement]) on(state, word[0]!, next);
	for (const letter of word.slice(1, -1)) on(next, letter, ++next);
	on(next++, word.at(-1)!, afterValue);
}

function on(state: number, bytes: string, next: number): void {
	for (const byte of Buffer.from(bytes)) table[(state << 8) | byte] = next;
}

/** TypeScript has its types only among the browser's. */
declare const WebAssembly: {
	Module: new (bytes: Uint8Array) => object;
	Instance: new (
		module: object,
	) => {
		exports: {
			memory: { buffer: ArrayBuffer };
			read(state: number, depth: number, length: number): number;
		};
	};
};

/** json-scan.wat has what it reads of the memory, and what it returns. */
const { exports: scan } = new WebAssembly.Instance(
	new WebAssembly.Module(Buffer.from(jsonScan, "base64")),
);
const memory = new Uint8Array(scan.memory.buffer);
memory.set(table);
const pieceAt = 0x4000;
const maxPieceBytes = 0x4000;
const openAt = 0x9000;

/** Every text that is at hand in one piece is read in one go. */
const shared = new JSONScanner();

/** Whether the text is short enough to be read in one step. */
export function isOneStep(parts: readonly Uint8Array[]): boolean {
	return parts.length === 1 && parts[0]!.length <= stepBytes;
}

/** Whether the parts together are one JSON value, step by step. */
export function* isJSONText(parts: readonly Uint8Array[]): LongWork<boolean> {
	if (isOneStep(parts)) return isJSON(parts[0]!);
	const scanner = new JSONScanner();
	for (const part of parts)
		for (let at = 0; at < part.length; at += stepBytes) {
			const piece = part.subarray(at, at + stepBytes);
			if (!scanner.read(piece)) return false;
			yield piece.length;
		}
	return scanner.isWhole;
}

/** Where a text stops being JSON. */
export interface JSONFault {
	/** From 1. */
	line: number;
	/** From 1, in characters. */
	column: number;
	/** What may stand there, in words. */
	expected: string;
	/** The text ends there. */
	isEnd: boolean;
}

/** Where UTF-8 that isn't a JSON value has its first mistake, step by step. */
export function* faultOf(parts: readonly Uint8Array[]): LongWork<JSONFault> {
	const scanner = new JSONScanner();
	let line = 1;
	let column = 1;
	for (const part of parts)
		for (let at = 0; at < part.length; at += stepBytes) {
			const piece = part.subarray(at, at + stepBytes);
			const length = scanner.readValid(piece);
			for (const byte of piece.subarray(0, length))
				if (byte === 0x0a) {
					line++;
					column = 1;
				} else if ((byte & 0xc0) !== 0x80) column++;
			if (length < piece.length)
				return { line, column, expected: scanner.expected, isEnd: false };
			yield piece.length;
		}
	return { line, column, expected: scanner.expected, isEnd: true };
}

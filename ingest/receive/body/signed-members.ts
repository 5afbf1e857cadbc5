import { type Steps, stepBytes } from "../admission/steps.ts";

/**
 * An object's members of these names, each as the bytes between its quotation marks; undefined if one is no string or comes twice.
 * Readers differ on which of two members counts (RFC 8259 §4), so a signature that covers one mustn't stand for the other.
 *
 * @param json valid JSON.
 */
export function* stringMembers(
	json: Uint8Array,
	names: readonly string[],
): Steps<Map<string, Uint8Array> | undefined> {
	const walk = new Walk(json, names);
	for (let at = 0; at < json.length && !walk.isRefused; ) {
		const from = at;
		while (at < json.length && at - from < stepBytes) at = walk.visit(at);
		yield at - from;
	}
	return walk.isRefused ? undefined : walk.members;
}

/** The text of a string's bytes, in parts; undefined if UTF-8 can't hold it. */
export function* textParts(
	bytes: Uint8Array,
): Steps<readonly string[] | undefined> {
	const parts: string[] = [];
	for (let at = 0; at < bytes.length; ) {
		const from = at;
		while (at < bytes.length && at - from < stepBytes)
			at = characterEnd(bytes, at);
		const part = textOf(bytes.subarray(from, at));
		// A lone surrogate would be signed as another character.
		if (!part.isWellFormed()) return undefined;
		parts.push(part);
		yield at - from;
	}
	return parts;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const letterU = 0x75;

class Walk {
	readonly members = new Map<string, Uint8Array>();
	isRefused = false;
	readonly #json: Uint8Array;
	readonly #names: ReadonlySet<string>;
	readonly #longestName: number;
	#depth = 0;
	#stringFrom = -1;
	#expectsName = false;
	/** Of the member whose value comes next, if it is wanted. */
	#name: string | undefined;

	constructor(json: Uint8Array, names: readonly string[]) {
		this.#json = json;
		this.#names = new Set(names);
		// JSON takes at most six bytes for a character of a name (\u0061).
		this.#longestName = 6 * Math.max(...names.map(({ length }) => length));
	}

	/** Visits the byte here, after all before it; returns where to go on. */
	visit(at: number): number {
		const byte = this.#json[at]!;
		if (this.#stringFrom >= 0) {
			if (byte === backslash) return at + 2;
			if (byte === quote) this.#endString(at);
			return at + 1;
		}
		switch (byte) {
			case quote:
				this.#stringFrom = at + 1;
				break;
			case openBrace:
			case openBracket:
				this.#endValue();
				this.#depth++;
				this.#expectsName = this.#depth === 1 && byte === openBrace;
				break;
			case closeBrace:
			case closeBracket:
				this.#endValue();
				this.#depth--;
				break;
			case comma:
				this.#endValue();
				this.#expectsName = this.#depth === 1;
		}
		return at + 1;
	}

	#endString(to: number): void {
		const bytes = this.#json.subarray(this.#stringFrom, to);
		this.#stringFrom = -1;
		if (this.#depth !== 1) return;
		if (!this.#expectsName) {
			if (this.#name !== undefined) this.members.set(this.#name, bytes);
			this.#name = undefined;
			return;
		}
		this.#expectsName = false;
		if (bytes.length > this.#longestName) return;
		const name = textOf(bytes);
		if (!this.#names.has(name)) return;
		this.#name = name;
		if (this.members.has(name)) this.isRefused = true;
	}

	/** A wanted name that still waits for its string has another value. */
	#endValue(): void {
		if (this.#name !== undefined) this.isRefused = true;
	}
}

/** Where the character that begins here ends: an escape, a pair of them for one character, or UTF-8. */
function characterEnd(bytes: Uint8Array, at: number): number {
	if (bytes[at] === backslash) {
		if (bytes[at + 1] !== letterU) return at + 2;
		const isPair =
			/^d[89ab]/i.test(String.fromCharCode(bytes[at + 2]!, bytes[at + 3]!)) &&
			bytes[at + 6] === backslash &&
			bytes[at + 7] === letterU;
		return at + (isPair ? 12 : 6);
	}
	let to = at + 1;
	while (to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to++;
	return to;
}

function textOf(bytes: Uint8Array): string {
	return JSON.parse(`"${Buffer.from(bytes).toString()}"`);
}

import { pointerParts } from "../../../packages/json/json-pointer.ts";
import { type LongWork, stepBytes } from "../admission/long-work.ts";

/**
 * The string that a JSON Pointer (RFC 6901 §4) names in a JSON text, or the text of an integer; undefined if the pointer names something else or nothing. Of members with one name the last counts, as in
 * JSON.parse. That would make the whole tree, and hold up every sender for as long.
 *
 * @param json valid JSON.
 */
export function* textAt(
	pointer: string,
	json: Uint8Array,
): LongWork<string | undefined> {
	const walk = new Walk(pointer, json);
	for (let at = 0; at < json.length; ) {
		const from = at;
		while (at < json.length && at - from < stepBytes) at = walk.visit(at);
		yield at - from;
	}
	return walk.text;
}

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const firstOfNumber = new Set(Buffer.from("-0123456789"));
const inNumber = new Set(Buffer.from("+-.0123456789Ee"));
const betweenValues = new Set(Buffer.from(" \t\n\r:"));

/** An open array or object that the pointer goes through. */
interface Level {
	isArray: boolean;
	/** The name of the member that the pointer names in it. */
	name: string;
	/** The same of an array's element; NaN if it is no index. */
	namedIndex: number;
	index: number;
	/** Whether the next value is the named one. */
	isNamed: boolean;
	/** Whether a string is a member's name. */
	expectsName: boolean;
}

class Walk {
	readonly #json: Uint8Array;
	readonly #parts: string[];
	readonly #path: Level[] = [];
	/** Of all open arrays and objects. */
	#depth = 0;
	#stringFrom = -1;
	/** Of the number that the pointer names. */
	#numberFrom = -1;
	#found: Uint8Array | undefined;

	constructor(pointer: string, json: Uint8Array) {
		this.#json = json;
		this.#parts = pointerParts(pointer);
	}

	/** Visits the byte here, after all before it; returns where to go on. */
	visit(at: number): number {
		const byte = this.#json[at]!;
		if (this.#stringFrom >= 0) {
			if (byte === backslash) return at + 2;
			if (byte === quote) this.#endString(at + 1);
			return at + 1;
		}
		if (this.#numberFrom >= 0) {
			if (inNumber.has(byte)) return at + 1;
			this.#endNumber(at);
		}
		switch (byte) {
			case quote:
				this.#stringFrom = at;
				break;
			case openBrace:
			case openBracket:
				this.#open(byte === openBracket);
				break;
			case closeBrace:
			case closeBracket:
				if (this.#level) this.#path.pop();
				this.#depth--;
				break;
			case comma:
				this.#next(this.#level);
				break;
			default:
				if (!betweenValues.has(byte) && this.#isOnPath()) {
					this.#found = undefined;
					if (this.#isWholePath && firstOfNumber.has(byte))
						this.#numberFrom = at;
				}
		}
		return at + 1;
	}

	/** After all bytes. */
	get text(): string | undefined {
		if (this.#numberFrom >= 0) this.#endNumber(this.#json.length);
		if (!this.#found) return undefined;
		const source = Buffer.from(this.#found).toString();
		if (/^-?[1-9]\d*$/.test(source)) return source;
		const value: unknown = JSON.parse(source);
		if (typeof value === "string") return value;
		// 1.0 is 1. Two larger numbers could become one.
		return Number.isSafeInteger(value) ? String(value) : undefined;
	}

	/** The innermost open array or object, if the pointer goes through it. */
	get #level(): Level | undefined {
		return this.#depth === this.#path.length
			? this.#path[this.#depth - 1]
			: undefined;
	}

	get #isWholePath(): boolean {
		return this.#path.length === this.#parts.length;
	}

	/** Whether the pointer goes through the value that begins here, or names it. */
	#isOnPath(): boolean {
		return this.#depth === 0 || this.#level?.isNamed === true;
	}

	#endString(to: number): void {
		const text = this.#json.subarray(this.#stringFrom, to);
		this.#stringFrom = -1;
		const level = this.#level;
		if (level?.expectsName) {
			level.expectsName = false;
			// JSON takes at most six bytes for a character of the part (\u0061).
			level.isNamed =
				text.length <= 2 + 6 * level.name.length && parsed(text) === level.name;
		} else if (this.#isOnPath())
			this.#found = this.#isWholePath ? text : undefined;
	}

	#endNumber(to: number): void {
		this.#found = this.#json.subarray(this.#numberFrom, to);
		this.#numberFrom = -1;
	}

	#open(isArray: boolean): void {
		const isOnPath = this.#isOnPath();
		const name = this.#parts[this.#path.length];
		this.#depth++;
		if (!isOnPath) return;
		this.#found = undefined;
		if (name === undefined) return;
		const namedIndex = /^(0|[1-9]\d*)$/.test(name) ? Number(name) : Number.NaN;
		const level = { isArray, name, namedIndex, index: -1 };
		this.#path.push({ ...level, isNamed: false, expectsName: false });
		this.#next(this.#level);
	}

	#next(level: Level | undefined): void {
		if (!level) return;
		level.index++;
		level.isNamed = level.isArray && level.index === level.namedIndex;
		level.expectsName = !level.isArray;
	}
}

function parsed(json: Uint8Array): unknown {
	return JSON.parse(Buffer.from(json).toString());
}

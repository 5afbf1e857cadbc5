import { randomUUID } from "node:crypto";

export class NotJson extends Error {}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
export const openBracket = 0x5b;
const closeBracket = 0x5d;
export const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Goes through a valid JSON text once, value by value, and passes without recursion what nobody reads. A text that isn't JSON
 * throws {@link NotJson}, or not. Who reads each level, however deep, or a text in pieces, goes by tokens instead.
 */
export class JsonReader {
	protected readonly body: string;
	protected at = 0;

	constructor(body: string) {
		this.body = body;
	}

	/** At an object: calls `read` at each member's value, with the name as it is written. It must pass the value. */
	protected members(read: (written: string) => void): void {
		this.at++;
		while (this.next() !== closeBrace) {
			const from = this.at;
			this.string();
			const written = this.body.slice(from, this.at);
			if (this.next() !== colon) throw new NotJson();
			this.at++;
			read(written);
			if (this.next() === comma) this.at++;
		}
		this.at++;
	}

	/** The same at an array. */
	protected items(read: (index: number) => void): void {
		this.at++;
		for (let index = 0; this.next() !== closeBracket; index++) {
			read(index);
			if (this.next() === comma) this.at++;
		}
		this.at++;
	}

	/** Passes a value, and returns its text. */
	protected text(): string {
		this.space();
		const from = this.at;
		this.skip();
		return this.body.slice(from, this.at);
	}

	protected passValue(): void {
		this.space();
		this.skip();
	}

	/** The next character that is no white space. */
	protected next(): number {
		this.space();
		return this.body.charCodeAt(this.at);
	}

	/** A byte order mark counts as white space: receive takes it off, and what is stored may be older. */
	protected space(): void {
		const body = this.body;
		for (;;) {
			const code = body.charCodeAt(this.at);
			if (code > 0x20 ? code !== 0xfeff : !(code >= 0)) return;
			this.at++;
		}
	}

	/** Passes a value, which begins here. */
	protected skip(): void {
		const body = this.body;
		let depth = 0;
		do {
			const code = body.charCodeAt(this.at);
			if (code === quote) this.string();
			else if (code === openBrace || code === openBracket) {
				depth++;
				this.at++;
			} else if (code === closeBrace || code === closeBracket) {
				depth--;
				this.at++;
			} else if (
				depth > 0 &&
				(code <= 0x20 || code === comma || code === colon)
			)
				this.at++;
			else this.#literal();
		} while (depth > 0);
		if (depth < 0) throw new NotJson();
	}

	#literal(): void {
		const from = this.at;
		for (;;) {
			const code = this.body.charCodeAt(this.at);
			const isPart =
				code > 0x20 &&
				code !== comma &&
				code !== colon &&
				code !== quote &&
				(code | 0x20) !== openBrace &&
				(code | 0x20) !== closeBrace;
			if (!isPart) break;
			this.at++;
		}
		if (this.at === from) throw new NotJson();
	}

	protected string(): void {
		if (this.body.charCodeAt(this.at) !== quote) throw new NotJson();
		const end = endOfString(this.body, this.at);
		if (end < 0) throw new NotJson();
		this.at = end;
	}
}

/** The string that a JSON text is. */
export function decoded(json: string): string {
	return json.includes("\\") ? JSON.parse(json) : json.slice(1, -1);
}

/** Of the string that begins here: where the text goes on. Without an end, -1. */
export function endOfString(json: string, from: number): number {
	for (let end = from; ; ) {
		end = json.indexOf('"', end + 1);
		if (end < 0) return -1;
		let before = end - 1;
		while (json[before] === "\\") before--;
		if ((end - before) % 2 === 1) return end + 1;
	}
}

/*
 * JSON numbers as they are written. JavaScript's have 53 bits, so 9007199254740993 becomes its neighbour. What a number of
 * JavaScript says is the shortest decimal that leads to it, which is what was written for all numbers of up to 15 digits and
 * most others.
 */

interface RawNumber {
	rawJSON: string;
}

/** TypeScript's library lacks them (ECMA-262, proposal JSON.parse source text access; in V8 since 11.4). */
const json = JSON as unknown as {
	rawJSON(text: string): RawNumber;
	isRawJSON(value: unknown): value is RawNumber;
};

/**
 * As JSON.parse, but a number that JavaScript would change becomes what JSON.rawJSON makes of its text, which JSON.stringify writes as
 * it was. Throws as JSON.parse does.
 * @param parsed what JSON.parse makes of the text, for who has it.
 */
export function parseExact(
	text: string,
	parsed: unknown = JSON.parse(text),
): unknown {
	let isMarked = false;
	const value = parseReplaced(text, parsed, (source) => {
		if (isKept(source, Number(source))) return source;
		isMarked = true;
		return `"${mark}${source}"`;
	});
	return isMarked ? unmarked(value) : value;
}

/** As JSON.parse, with the numbers that a function puts in the place of those that JavaScript might change. */
export function parseNumbers(
	text: string,
	numberOf: (source: string, value: number) => number,
): unknown {
	return parseReplaced(text, JSON.parse(text), (source) =>
		String(numberOf(source, Number(source))),
	);
}

/** As JSON.parse, with each number as a string of its text. */
export function parseNumbersAsTexts(text: string): unknown {
	return JSON.parse(
		text.replace(stringOrNumber, (all) =>
			all.startsWith('"') ? all : `"${all}"`,
		),
	);
}

/** Not by JSON.parse's reviver, which is recursive: strangers choose how deep a text is, and it may be a list of everybody's objects. */
function parseReplaced(
	text: string,
	parsed: unknown,
	replace: (source: string) => string,
): unknown {
	if (!mayBeChanged.test(text)) return parsed;
	return JSON.parse(
		text.replace(stringOrNumber, (all) =>
			all.startsWith('"') || (all.length < 16 && !/e/i.test(all))
				? all
				: replace(all),
		),
	);
}

/** Of valid JSON. */
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Nobody can write a string that begins with it. */
const mark = randomUUID();

function unmarked(root: unknown): unknown {
	const holder = { root };
	const open: object[] = [holder];
	for (let next = open.pop(); next; next = open.pop())
		for (const [key, value] of Object.entries(next))
			if (typeof value === "object" && value !== null) open.push(value);
			else if (typeof value === "string" && value.startsWith(mark))
				// Not by assignment: a member may be named __proto__.
				Object.defineProperty(next, key, {
					value: json.rawJSON(value.slice(mark.length)),
				});
	return holder.root;
}

/** What {@link parseExact} keeps of a number that JavaScript would change. */
export function rawNumber(text: string): unknown {
	return json.rawJSON(text);
}

/** The text of a number that {@link parseExact} has kept. */
export function rawNumberOf(value: unknown): string | undefined {
	return json.isRawJSON(value) ? value.rawJSON : undefined;
}

/**
 * A number of 16 characters and more, or with an exponent: others are kept. It finds some in strings, too. It takes a third of
 * JSON.parse's time; one that begins with what stands before a number takes twice as much (measured on GitHub's bodies).
 */
const mayBeChanged = /\d[\d.]{15}|\d[eE][-+]?\d+(?:[\s,}\]]|$)/;

/** A number's sign, digits before and after the point, and exponent (RFC 8259 §6). */
export const numberForm = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Whether a number of JavaScript says what was written. */
export function isKept(source: string, value: number): boolean {
	const text = String(value);
	return text === source || canonicalNumber(text) === canonicalNumber(source);
}

/** Whether a number has no fraction: 1.0 and 15e1 have none. */
export function isWhole(text: string): boolean {
	if (/^-?\d+$/.test(text)) return true;
	const canonical = canonicalNumber(text);
	return canonical === "0" || Number(canonical.split("e")[1]) >= 0;
}

/** The same text for equal numbers only: the digits without zeros around them, and the power of ten of the last. */
export function canonicalNumber(text: string): string {
	const { sign, digits, exponent } = decimalParts(text);
	const first = digits.search(/[1-9]/);
	if (first < 0) return "0";
	// No regular expression: one for zeros at the end takes quadratic time for many in the middle.
	let end = digits.length;
	while (digits[end - 1] === "0") end--;
	return `${sign}${digits.slice(first, end)}e${exponent + digits.length - end}`;
}

/** A number's digits, as an integer, and the power of ten that it is multiplied by. Infinity has none. */
export function decimalParts(text: string): {
	sign: "-" | "";
	digits: string;
	exponent: number;
} {
	const [, sign, whole = "", fraction = "", exponent = "0"] =
		/^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
	return {
		sign: sign === "-" ? "-" : "",
		digits: whole + fraction,
		exponent: Number(exponent) - fraction.length,
	};
}

/** A number as it is written, if what reads JSON keeps all of it; undefined for another text. */
export function exactNumber(text: string): unknown {
	if (!numberForm.test(text)) return undefined;
	return isKept(text, Number(text)) ? rawNumber(text) : undefined;
}

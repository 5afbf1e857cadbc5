import type { BodyColumnType } from "../../contracts/job.ts";
import { decimalParts } from "../../service/exact-json.ts";

/*
 * Reads values of a body as they are written, where DuckDB's JSON functions would change them or give up: numbers that 53 bits don't
 * hold, numbers as text (1.10), members that stand twice, and strings with half of a surrogate pair (RFC 8259 §8.2), of which DuckDB
 * reads nothing of the whole body. It takes a few microseconds a body, so columns.ts asks for it only where it is needed.
 */

export interface BodyPlace {
	bodyPointer: string;
	type: BodyColumnType;
}

/**
 * What {@link bodyValues} says of a value: nothing is there; or its text, which for a string is what it says; `odd` counts as a
 * value that doesn't fit, since others may read another one there.
 */
type BodyValue = { text: string; odd: boolean } | undefined;

/**
 * The values of a body at these places, as a JSON list of texts that begin with "=", with "~" for an odd value, or with "!" if there
 * is no text of the type; null for nothing.
 * @param body valid JSON.
 * @param places JSON of {@link BodyPlace}[].
 */
export function bodyValues(body: string, places: string): string {
	const { root, count, types } = placesOf(places);
	const scan = new BodyScan(body, count);
	scan.value(0, root);
	return JSON.stringify(
		scan.found.map((json, index) =>
			taggedText(json, scan.repeated.has(index), types[index]!),
		),
	);
}

/** A column's place among the places of all: those that begin with the same tokens share the nodes. */
interface PlaceNode {
	children: Map<string, PlaceNode>;
	/** Numbers of the columns whose value is here. */
	columns: number[];
	/** Of those here and below. */
	all: number[];
}

interface Places {
	root: PlaceNode;
	count: number;
	types: BodyColumnType[];
}

/** Those of a load are the same for all its rows. */
let known: { text: string; places: Places } | undefined;

function placesOf(text: string): Places {
	if (known?.text === text) return known.places;
	const all: BodyPlace[] = JSON.parse(text);
	const root = newNode();
	for (const [index, { bodyPointer }] of all.entries()) {
		let node = root;
		node.all.push(index);
		for (const token of bodyPointer.split("/").slice(1)) {
			const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
			const child = node.children.get(name) ?? newNode();
			node.children.set(name, child);
			node = child;
			node.all.push(index);
		}
		node.columns.push(index);
	}
	const types = all.map(({ type }) => type);
	const places = { root, count: all.length, types };
	known = { text, places };
	return places;
}

function newNode(): PlaceNode {
	return { children: new Map(), columns: [], all: [] };
}

class BodyScan {
	/** Of each column, the JSON text. */
	readonly found: (string | undefined)[];
	/** Columns on whose way a member stands twice. */
	readonly repeated = new Set<number>();
	readonly #body: string;

	constructor(body: string, count: number) {
		this.#body = body;
		this.found = new Array<string | undefined>(count).fill(undefined);
	}

	/** Reads the value that begins here, after white space; returns its end. It goes as deep as the places' pointers do. */
	value(from: number, node: PlaceNode): number {
		const start = this.#afterSpace(from);
		const first = this.#body[start];
		const end =
			node.children.size === 0
				? this.#skip(start)
				: first === "{"
					? this.#object(start, node)
					: first === "["
						? this.#array(start, node)
						: this.#skip(start);
		for (const column of node.columns)
			this.found[column] = this.#body.slice(start, end);
		return end;
	}

	#object(start: number, { children }: PlaceNode): number {
		const seen = new Set<PlaceNode>();
		let at = this.#afterSpace(start + 1);
		while (this.#body[at] !== "}") {
			const end = this.#endOfString(at);
			const name: string = JSON.parse(this.#body.slice(at, end));
			const child = children.get(name);
			const from = this.#afterSpace(end) + 1;
			if (child) {
				// The last member counts, also for what only an earlier one has below it.
				if (seen.has(child))
					for (const column of child.all) {
						this.repeated.add(column);
						this.found[column] = undefined;
					}
				seen.add(child);
				at = this.value(from, child);
			} else at = this.#skip(this.#afterSpace(from));
			at = this.#afterSpace(at);
			if (this.#body[at] === ",") at = this.#afterSpace(at + 1);
		}
		return at + 1;
	}

	#array(start: number, { children }: PlaceNode): number {
		let at = this.#afterSpace(start + 1);
		for (let index = 0; this.#body[at] !== "]"; index++) {
			const child = children.get(String(index));
			at = child ? this.value(at, child) : this.#skip(at);
			at = this.#afterSpace(at);
			if (this.#body[at] === ",") at = this.#afterSpace(at + 1);
		}
		return at + 1;
	}

	/** The end of the value that begins here, however deep it is. */
	#skip(start: number): number {
		let at = start;
		for (let depth = 0; ; ) {
			const first = this.#body[at];
			if (first === '"') at = this.#endOfString(at);
			else if (first === "{" || first === "[") {
				depth++;
				at++;
			} else if (first === "}" || first === "]") {
				depth--;
				at++;
			} else if (first === "," || first === ":" || isSpace(first)) at++;
			else {
				scalar.lastIndex = at;
				scalar.test(this.#body);
				at = scalar.lastIndex;
			}
			if (depth === 0) return at;
		}
	}

	#endOfString(start: number): number {
		for (let at = start + 1; ; ) {
			const end = this.#body.indexOf('"', at);
			let escapes = 0;
			while (this.#body[end - 1 - escapes] === "\\") escapes++;
			if (escapes % 2 === 0) return end + 1;
			at = end + 1;
		}
	}

	#afterSpace(from: number): number {
		let at = from;
		while (isSpace(this.#body[at])) at++;
		return at;
	}
}

/** A number or a literal. */
const scalar = /[^\s,:\]}]+/y;

function isSpace(character: string | undefined): boolean {
	return (
		character === " " ||
		character === "\n" ||
		character === "\r" ||
		character === "\t"
	);
}

function taggedText(
	json: string | undefined,
	isRepeated: boolean,
	type: BodyColumnType,
): string | null {
	if (json === undefined || json === "null") return isRepeated ? "!" : null;
	const value = textOf(json, type);
	if (!value) return "!";
	return `${value.odd || isRepeated ? "~" : "="}${value.text}`;
}

/** Undefined if there is no text of the type. */
function textOf(json: string, type: BodyColumnType): BodyValue {
	if (type === "JSON") return minified(json);
	if (json.startsWith("{") || json.startsWith("[")) return undefined;
	const value: string = json.startsWith('"') ? JSON.parse(json) : json;
	const text = value.toWellFormed();
	const isExact = type === "Integer";
	return { text: isExact ? plainNumber(text) : text, odd: text !== value };
}

/** Without white space between values, as DuckDB has it, and without halves of surrogate pairs, which it doesn't read. */
function minified(json: string): { text: string; odd: boolean } {
	let odd = false;
	const text = json.replace(
		/("(?:[^"\\]|\\.)*")|\s+/gs,
		(_, string: string | undefined) => {
			if (string === undefined) return "";
			if (!/\\u[dD]/.test(string)) return string;
			const value: string = JSON.parse(string);
			if (value.isWellFormed()) return string;
			odd = true;
			return JSON.stringify(value.toWellFormed());
		},
	);
	return { text, odd };
}

/** A number without an exponent; any other text, and a number that no column holds, as it is. */
function plainNumber(text: string): string {
	if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?[eE][+-]?\d{1,4}$/.test(text)) return text;
	const { sign, digits, exponent } = decimalParts(text);
	if (/^0+$/.test(digits)) return "0";
	if (Math.abs(exponent) + digits.length > 400) return text;
	const whole = exponent >= 0 ? digits + "0".repeat(exponent) : digits;
	const places = Math.max(0, -exponent);
	const padded = whole.padStart(places + 1, "0");
	const split = padded.length - places;
	const integer = padded.slice(0, split).replace(/^0+(?=\d)/, "");
	return `${sign}${integer}${places > 0 ? `.${padded.slice(split)}` : ""}`;
}

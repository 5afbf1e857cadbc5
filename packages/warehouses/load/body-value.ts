import type {
	BodyValueType,
	RescuedValues,
	TableColumn,
} from "../../contracts/job.ts";
import { pointerParts } from "../../json/json-pointer.ts";
import { decoded, endOfString, numberForm } from "../../json/json-reader.ts";
import { isDate, timestampValue } from "./timestamp-value.ts";

/**
 * What a column of the type has for a value of the body: `=` and the value's text, which the warehouse's SQL casts; `!` and a
 * text for a value that is there and unfit all the same; `?` for an unfit value without one; null for nothing and JSON's null.
 */
export type ColumnValue = `=${string}` | `!${string}` | "?" | null;

/** A form's field that was left empty, as JSON: to all columns but texts it is a missing one. */
export const emptyText = '""';

/**
 * Forms send nothing but strings, so a string that holds a value of the type counts as that value. Years are those that every
 * warehouse has: 1 to 9999.
 * @param json the value's JSON text, valid by RFC 8259.
 */
export function columnValue(json: string, column: BodyValueType): ColumnValue {
	const value = valueOfType(json, column);
	return value === null || isWithin(value.slice(1), column) ? value : "?";
}

function isWithin(text: string, { type, limits = {} }: BodyValueType): boolean {
	const { years, objectDepth } = limits;
	if (text === "") return true;
	if (objectDepth !== undefined && type === "JSON")
		return isObject(text, objectDepth);
	if (years === undefined || (type !== "Timestamp" && type !== "Date"))
		return true;
	const year = Number(text.slice(0, 4));
	return year >= years[0] && year <= years[1];
}

/** @param json without spaces between its parts. */
function isObject(json: string, maxDepth: number): boolean {
	if (json[0] !== "{") return false;
	let depth = 0;
	// Without one in a name no two values have the same path.
	let hasDots = false;
	for (let at = 0; at < json.length; ) {
		const token = tokenAt(json, at);
		at += token.length;
		if (json[at] === ":") hasDots ||= /\.|\\u002e/i.test(token);
		if (token === "{" || token === "[") depth++;
		if (token === "}" || token === "]") depth--;
		if (depth > maxDepth) return false;
		if (/^[-\d]/.test(token) && !Number.isFinite(Number(token))) return false;
	}
	return !hasDots || hasUniquePaths(JSON.parse(json));
}

/** An object in an array has paths of its own. Neither null nor an empty object has one. */
function hasUniquePaths(value: unknown): boolean {
	/** Numbers by the number of the place that they are in, and a name there: a path of long names isn't written out for each value. */
	const places = new Map<string, number>();
	const taken = new Set<number>();
	const placeIn = (place: number, name: string): number => {
		const key = `${place}.${name}`;
		const found = places.get(key) ?? places.size + 1;
		places.set(key, found);
		return found;
	};
	const visit = (value: unknown, place: number): boolean => {
		if (value === null) return true;
		if (Array.isArray(value) && !value.every(hasUniquePaths)) return false;
		if (typeof value === "object" && !Array.isArray(value))
			return Object.entries(value).every(([name, member]) =>
				visit(member, name.split(".").reduce(placeIn, place)),
			);
		const isNew = !taken.has(place);
		taken.add(place);
		return isNew;
	};
	return visit(value, 0);
}

function valueOfType(json: string, column: BodyValueType): ColumnValue {
	const first = json[0];
	if (first === "n") return null;
	if (column.type === "JSON") {
		const { text, isOdd } = minifiedJson(json);
		return isOdd ? `!${text}` : `=${text}`;
	}
	if (first === "{" || first === "[") return "?";
	const text = first === '"' ? decoded(json) : json;
	if (column.type === "Timestamp") {
		const { value, isOdd } = timestampValue(text, column) ?? {};
		if (value === undefined) return "?";
		return isOdd ? `!${value}` : `=${value}`;
	}
	if (column.type === "String")
		return text.isWellFormed() ? `=${text}` : `!${text.toWellFormed()}`;
	const value = textOf(text, column);
	return value === undefined ? "?" : `=${value}`;
}

function textOf(
	text: string,
	column: Exclude<BodyValueType, { type: "String" | "JSON" | "Timestamp" }>,
): string | undefined {
	switch (column.type) {
		case "Integer":
			return int64(decimal(text, 19, 0));
		case "Number":
			return double(text);
		case "Decimal":
			return decimal(text, column.precision, column.scale);
		case "Boolean":
			return text === "true" || text === "false" ? text : undefined;
		case "Date":
			return isDate(text) ? text : undefined;
	}
}

/** A number without an exponent, if it has at most so many digits, `scale` of them after the point: never rounded. */
function decimal(
	text: string,
	precision: number,
	scale: number,
): string | undefined {
	const [, sign, whole, fraction = "", exponent = "0"] =
		numberForm.exec(text) ?? [];
	if (whole === undefined) return undefined;
	const all = whole + fraction;
	let from = 0;
	let to = all.length;
	while (from < to && all[from] === "0") from++;
	while (to > from && all[to - 1] === "0") to--;
	if (from === to) return "0";
	const digits = all.slice(from, to);
	/** How many digits stand before the point; negative if zeros follow it. */
	const before = whole.length - from + Number(exponent);
	if (before > precision - scale || digits.length - before > scale)
		return undefined;
	if (before <= 0) return `${sign}0.${"0".repeat(-before)}${digits}`;
	const padded = digits.padEnd(before, "0");
	const rest = padded.slice(before);
	return `${sign}${padded.slice(0, before)}${rest && `.${rest}`}`;
}

/** JSON Schema counts 1.0 as an integer. */
function int64(whole: string | undefined): string | undefined {
	if (whole === undefined) return undefined;
	return BigInt.asIntN(64, BigInt(whole)) === BigInt(whole) ? whole : undefined;
}

function double(text: string): string | undefined {
	if (!numberForm.test(text)) return undefined;
	const value = Number(text);
	if (!Number.isFinite(value)) return undefined;
	return Object.is(value, -0) ? "-0.0" : String(value);
}

const literal = /[^\s{}[\],:"]+/y;

function tokenAt(json: string, at: number): string {
	if (json[at] === '"') return json.slice(at, endOfString(json, at));
	literal.lastIndex = at;
	return literal.exec(json)?.[0] ?? json[at]!;
}

/** An object or array that isn't closed yet. */
type OpenValue = { items: string[] } | { members: Map<string, string> };

/**
 * A JSON text without the spaces between its parts. Numbers stay as they are written. Odd is what programs read differently:
 * of several members with one name the last is kept, and half of a surrogate pair becomes U+FFFD.
 * It keeps its own stack, since senders choose how deep a body is.
 */
export function minifiedJson(json: string): { text: string; isOdd: boolean } {
	const open: OpenValue[] = [];
	const names: { name: string; written: string }[] = [];
	let result = "";
	let isOdd = false;
	let isName = false;
	const add = (text: string) => {
		const parent = open.at(-1);
		if (!parent) result = text;
		else if ("items" in parent) parent.items.push(text);
		else {
			const { name, written } = names.pop()!;
			if (parent.members.has(name)) isOdd = true;
			parent.members.set(name, `${written}:${text}`);
		}
	};
	for (let at = 0; at < json.length; ) {
		const token = tokenAt(json, at);
		at += token.length;
		if (/[\s:]/.test(token[0]!)) continue;
		if (token === "{") open.push({ members: new Map() });
		else if (token === "[") open.push({ items: [] });
		else if (token === "}" || token === "]") {
			const closed = open.pop()!;
			add(
				"items" in closed
					? `[${closed.items.join(",")}]`
					: `{${[...closed.members.values()].join(",")}}`,
			);
		} else if (token.startsWith('"')) {
			const text = decoded(token);
			const name = text.toWellFormed();
			if (name !== text) isOdd = true;
			const written = name === text ? token : JSON.stringify(name);
			if (isName) names.push({ name, written });
			else add(written);
		} else if (token !== ",") add(token);
		const parent = open.at(-1);
		isName =
			(token === "{" || token === ",") &&
			parent !== undefined &&
			"members" in parent;
	}
	return { text: result, isOdd };
}

export type BodyColumn =
	| ({ bodyPointer: string } & BodyValueType)
	| RescuedValues;

/** Whether the column has what the others don't hold. */
export function isRest(from: TableColumn["from"]): from is RescuedValues {
	return typeof from === "object" && "isRest" in from;
}

export interface Paths {
	columns: readonly BodyColumn[];
	root: Path;
}

/** A place in bodies that pointers name, or that is on the way to one. */
export interface Path {
	/** Those that have this value. */
	columns: number[];
	/** Those that have this value or one in it. */
	within: number[];
	parts: Map<string, Path>;
}

const newPath = (): Path => ({ columns: [], within: [], parts: new Map() });

export function pathsOf(columns: readonly BodyColumn[]): Paths {
	const root = newPath();
	for (const [number, column] of columns.entries()) {
		if (isRest(column)) continue;
		let path = root;
		for (const part of pointerParts(column.bodyPointer)) {
			const next = path.parts.get(part) ?? newPath();
			path.parts.set(part, next);
			next.within.push(number);
			path = next;
		}
		path.columns.push(number);
	}
	return { columns, root };
}

/** What a warehouse's type for JSON holds. None takes half of a surrogate pair. */
export interface JsonLimits {
	/** Arrays and objects in each other. */
	maxDepth: number;
	/** Whether strings may have \u0000. */
	takesNul: boolean;
	/** @param number as it is written. */
	takesNumber(number: string): boolean;
}

/** Whether a JSON text can be deeper than this, by SQL that is quicker than a look at the text. */
export function mayBeDeeper(text: string, { maxDepth }: JsonLimits): string {
	const opening = `length(${text}) - length(translate(${text}, '[{', ''))`;
	return `(length(${text}) > ${2 * maxDepth} AND ${opening} > ${maxDepth})`;
}

/** Whether a warehouse can hold a JSON text, which is valid by RFC 8259. */
export function jsonFits(json: string, limits: JsonLimits): boolean {
	let depth = 0;
	for (let at = 0; at < json.length; at++) {
		const code = json.charCodeAt(at);
		if (code === 0x22) {
			const end = endOfFittingString(json, at, limits.takesNul);
			if (end < 0) return false;
			at = end;
		} else if (code === 0x5b || code === 0x7b) {
			if (++depth > limits.maxDepth) return false;
		} else if (code === 0x5d || code === 0x7d) depth--;
		else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
			numberPattern.lastIndex = at;
			const [number = ""] = numberPattern.exec(json) ?? [];
			if (!limits.takesNumber(number)) return false;
			at += Math.max(0, number.length - 1);
		}
	}
	return true;
}

const numberPattern = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** Where the string that begins here ends; -1 if it doesn't fit. */
function endOfFittingString(
	json: string,
	from: number,
	takesNul: boolean,
): number {
	let high = false;
	for (let at = from + 1; at < json.length; at++) {
		const code = json.charCodeAt(at);
		let unit = code;
		if (code === 0x22) return high ? -1 : at;
		if (code === 0x5c) {
			at++;
			if (json[at] === "u") {
				unit = Number.parseInt(json.slice(at + 1, at + 5), 16);
				at += 4;
				if (unit === 0 && !takesNul) return -1;
			} else unit = 0x20;
		}
		const isHigh = unit >= 0xd800 && unit < 0xdc00;
		const isLow = unit >= 0xdc00 && unit < 0xe000;
		if (isLow !== high) return -1;
		high = isHigh;
	}
	return -1;
}

import type { BodyValueType } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { pointerParts } from "../../service/json-pointer.ts";
import {
	type ColumnValue,
	columnValue,
	decoded,
	endOfString,
} from "./body-value.ts";

export type BodyColumn = { bodyPointer: string } & BodyValueType;

/**
 * The function of SQL that {@link defineBodyValues} adds. Give it another name when it gives other values: a table's record has
 * the SQL, and days that were filled by another function are loaded anew.
 */
export const bodyValuesFunction = "tidemill_body_values_1";

/**
 * DuckDB's own functions for JSON don't do: they write a number anew from floating point, read the first of several members with
 * one name, and fail at half of a surrogate pair (RFC 8259 §4 and §8.2 allow both).
 */
export function defineBodyValues(session: Session): void {
	const paths = new Map<string, Paths>();
	const call = (body: string, columns: string) => {
		const found = paths.get(columns) ?? pathsOf(JSON.parse(columns));
		paths.set(columns, found);
		return JSON.stringify(valuesOf(body, found));
	};
	session.define(bodyValuesFunction, call, { isConstant: true });
	session.define(headerValueFunction, headerValue, { isConstant: true });
}

/** DuckDB's condition that what the pointer names in a body has exactly this text, by {@link defineBodyValues}. */
export function bodyHasText(
	body: string,
	{ bodyPointer, equals }: { bodyPointer: string; equals: string },
): string {
	return `${bodyText(body, bodyPointer)} = ${quoteText(equals)}`;
}

/** The text itself, in SQL: a string, or a number or a boolean as it is written; NULL if there is none. */
export function bodyText(body: string, bodyPointer: string): string {
	return textOf(valuesSql(body, [{ bodyPointer, type: "String" }])[0]!);
}

/** The same, of a string alone: a number's text is none. */
export function bodyHasString(
	body: string,
	{ bodyPointer, equals }: { bodyPointer: string; equals: string },
): string {
	const [value, json] = valuesSql(body, asStringAndJson(bodyPointer));
	return `(${textOf(value!)} = ${quoteText(equals)} AND substr(${json}, 2, 1) = '"')`;
}

/** As {@link bodyHasString}, of a body that is here. */
export function hasString(
	body: string,
	{ bodyPointer, equals }: { bodyPointer: string; equals: string },
): boolean {
	const [value, json] = valuesOf(body, pathsOf(asStringAndJson(bodyPointer)));
	return value?.slice(1) === equals && json?.[1] === '"';
}

function asStringAndJson(bodyPointer: string): BodyColumn[] {
	return [
		{ bodyPointer, type: "String" },
		{ bodyPointer, type: "JSON" },
	];
}

/** The values of columns, in SQL. The body is read once, since all are of one call. */
function valuesSql(body: string, columns: BodyColumn[]): string[] {
	const values = `${bodyValuesFunction}(${body}, ${quoteText(JSON.stringify(columns))})`;
	return columns.map(
		(_, index) => `json_extract_string(${values}, '$[${index}]')`,
	);
}

/** Of several members with one name, the last counts, as in columns; it begins with an exclamation mark. */
function textOf(value: string): string {
	return `CASE WHEN left(${value}, 1) IN ('=', '!') THEN substr(${value}, 2) END`;
}

/** What a pointer names in a body, as it is written; undefined if the body isn't JSON. */
export function bodyPartOf(
	body: string,
	bodyPointer: string,
): { text: string | undefined; isTwice: boolean } | undefined {
	const { columns, root } = pathsOf([{ bodyPointer, type: "JSON" }]);
	const reader = new BodyReader(body, columns.length);
	try {
		reader.read(root);
	} catch (error) {
		if (error instanceof NotJson) return undefined;
		throw error;
	}
	return { text: reader.texts[0], isTwice: reader.isTwice[0]! };
}

/** The function of SQL that gives the value of a captured header, written as {@link ColumnValue} is: `?` for none. */
export const headerValueFunction = "tidemill_header_value_1";

function headerValue(headers: string, name: string): string {
	const all: Record<string, unknown> = JSON.parse(headers || "{}");
	const value = Object.hasOwn(all, name) ? all[name] : undefined;
	if (typeof value !== "string") return "?";
	return value.isWellFormed() ? `=${value}` : `!${value.toWellFormed()}`;
}

interface Paths {
	columns: readonly BodyColumn[];
	root: Path;
}

/** A place in bodies that pointers name, or that is on the way to one. */
interface Path {
	/** Those that have this value. */
	columns: number[];
	/** Those that have this value or one in it. */
	within: number[];
	parts: Map<string, Path>;
}

const newPath = (): Path => ({ columns: [], within: [], parts: new Map() });

function pathsOf(columns: readonly BodyColumn[]): Paths {
	const root = newPath();
	for (const [number, { bodyPointer }] of columns.entries()) {
		let path = root;
		for (const part of pointerParts(bodyPointer)) {
			const next = path.parts.get(part) ?? newPath();
			path.parts.set(part, next);
			next.within.push(number);
			path = next;
		}
		path.columns.push(number);
	}
	return { columns, root };
}

function valuesOf(body: string, { columns, root }: Paths): ColumnValue[] {
	const reader = new BodyReader(body, columns.length);
	try {
		reader.read(root);
	} catch (error) {
		if (error instanceof NotJson) return columns.map(() => "?");
		throw error;
	}
	return columns.map((column, number): ColumnValue => {
		const json = reader.texts[number];
		const value = json === undefined ? null : columnValue(json, column);
		if (!reader.isTwice[number]) return value;
		return value?.startsWith("=")
			? (`!${value.slice(1)}` as const)
			: (value ?? "?");
	});
}

class NotJson extends Error {}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Reads a valid JSON text once, and keeps the texts of the values that paths name. It calls itself only along a path. */
class BodyReader {
	readonly texts: (string | undefined)[];
	/** Whether several members with one name lead to the value. The last counts, as in JavaScript, Python and Go. */
	readonly isTwice: boolean[];
	readonly #body: string;
	#at = 0;

	constructor(body: string, columns: number) {
		this.#body = body;
		this.texts = new Array(columns).fill(undefined);
		this.isTwice = new Array(columns).fill(false);
	}

	read(path: Path): void {
		this.#space();
		const from = this.#at;
		const first = this.#body.charCodeAt(from);
		if (path.parts.size > 0 && first === openBrace) this.#object(path);
		else if (path.parts.size > 0 && first === openBracket) this.#array(path);
		else this.#skip();
		if (path.columns.length === 0) return;
		const text = this.#body.slice(from, this.#at);
		for (const column of path.columns) this.texts[column] = text;
	}

	#object({ parts }: Path): void {
		const seen = new Set<Path>();
		this.#at++;
		while (this.#next() !== closeBrace) {
			const from = this.#at;
			this.#string();
			const part = parts.get(decoded(this.#body.slice(from, this.#at)));
			if (this.#next() !== colon) throw new NotJson();
			this.#at++;
			if (!part) this.#value();
			else {
				if (seen.has(part))
					for (const column of part.within) {
						this.texts[column] = undefined;
						this.isTwice[column] = true;
					}
				seen.add(part);
				this.read(part);
			}
			if (this.#next() === comma) this.#at++;
		}
		this.#at++;
	}

	#array({ parts }: Path): void {
		this.#at++;
		for (let index = 0; this.#next() !== closeBracket; index++) {
			const part = parts.get(String(index));
			if (part) this.read(part);
			else this.#value();
			if (this.#next() === comma) this.#at++;
		}
		this.#at++;
	}

	#value(): void {
		this.#space();
		this.#skip();
	}

	/** The next character that is no white space. */
	#next(): number {
		this.#space();
		return this.#body.charCodeAt(this.#at);
	}

	/** A byte order mark counts as white space: receive takes it off, and what is stored may be older. */
	#space(): void {
		const body = this.#body;
		for (;;) {
			const code = body.charCodeAt(this.#at);
			if (code > 0x20 ? code !== 0xfeff : !(code >= 0)) return;
			this.#at++;
		}
	}

	/** Passes a value, which begins here. */
	#skip(): void {
		const body = this.#body;
		let depth = 0;
		do {
			const code = body.charCodeAt(this.#at);
			if (code === quote) this.#string();
			else if (code === openBrace || code === openBracket) {
				depth++;
				this.#at++;
			} else if (code === closeBrace || code === closeBracket) {
				depth--;
				this.#at++;
			} else if (
				depth > 0 &&
				(code <= 0x20 || code === comma || code === colon)
			)
				this.#at++;
			else this.#literal();
		} while (depth > 0);
		if (depth < 0) throw new NotJson();
	}

	#literal(): void {
		const from = this.#at;
		for (;;) {
			const code = this.#body.charCodeAt(this.#at);
			const isPart =
				code > 0x20 &&
				code !== comma &&
				code !== colon &&
				code !== quote &&
				(code | 0x20) !== openBrace &&
				(code | 0x20) !== closeBrace;
			if (!isPart) break;
			this.#at++;
		}
		if (this.#at === from) throw new NotJson();
	}

	#string(): void {
		if (this.#body.charCodeAt(this.#at) !== quote) throw new NotJson();
		const end = endOfString(this.#body, this.#at);
		if (end < 0) throw new NotJson();
		this.#at = end;
	}
}

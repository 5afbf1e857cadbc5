import type { BodyMatch } from "../../contracts/archive.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { pointerParts } from "../../json/json-pointer.ts";
import {
	canonicalNumber,
	decoded,
	JsonReader,
	NotJson,
	numberForm,
	openBrace,
	openBracket,
} from "../../json/json-reader.ts";
import {
	type BodyColumn,
	type ColumnValue,
	columnValue,
	emptyText,
	isRest,
	minifiedJson,
	type Path,
	type Paths,
	pathsOf,
} from "./body-value.ts";

export type { BodyColumn } from "./body-value.ts";

/**
 * The function of SQL that {@link defineBodyValues} adds. Give it another name when it gives other values: a table's record has
 * the SQL, and days that were filled by another function are loaded anew.
 */
export const bodyValuesFunction = "tidemill_body_values_1";

/** The same for the body of a form, where people leave fields empty: to all columns but texts, an empty field is a missing one. */
export const formValuesFunction = "tidemill_form_values_1";

/**
 * DuckDB's own functions for JSON don't do: they write a number anew from floating point, read the first of several members with
 * one name, and fail at half of a surrogate pair (RFC 8259 §4 and §8.2 allow both).
 */
export function defineBodyValues(session: Session): void {
	const paths = new Map<string, Paths>();
	const valuesBy = (isForm: boolean) => (body: string, columns: string) => {
		const found = paths.get(columns) ?? pathsOf(JSON.parse(columns));
		paths.set(columns, found);
		return JSON.stringify(valuesOf(body, found, isForm));
	};
	const isConstant = true;
	session.define(bodyValuesFunction, valuesBy(false), { isConstant });
	session.define(formValuesFunction, valuesBy(true), { isConstant });
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

function valuesOf(
	body: string,
	{ columns, root }: Paths,
	isForm: boolean,
): ColumnValue[] {
	const reader = new BodyReader(body, columns.length);
	try {
		reader.read(root);
	} catch (error) {
		if (error instanceof NotJson)
			return columns.map((column) => (isRest(column) ? null : "?"));
		throw error;
	}
	const values = columns.map((column, number): ColumnValue => {
		const json = reader.texts[number];
		const isMissing =
			json === undefined ||
			(isForm && json === emptyText && column.type !== "String");
		const value = isMissing ? null : columnValue(json, column);
		if (!reader.isTwice[number]) return value;
		return value?.startsWith("=")
			? (`!${value.slice(1)}` as const)
			: (value ?? "?");
	});
	const rest = columns.findIndex(isRest);
	if (rest >= 0) values[rest] = restOf(body, root, values, isForm);
	return values;
}

/** Reads a valid JSON text once, and keeps the texts of the values that paths name. It calls itself only along a path. */
class BodyReader extends JsonReader {
	readonly texts: (string | undefined)[];
	/** Whether several members with one name lead to the value. The last counts, as in JavaScript, Python and Go. */
	readonly isTwice: boolean[];

	constructor(body: string, columns: number) {
		super(body);
		this.texts = new Array(columns).fill(undefined);
		this.isTwice = new Array(columns).fill(false);
	}

	read(path: Path): void {
		this.space();
		const from = this.at;
		const first = this.body.charCodeAt(from);
		if (path.parts.size > 0 && first === openBrace) this.#object(path);
		else if (path.parts.size > 0 && first === openBracket) this.#array(path);
		else this.skip();
		if (path.columns.length === 0) return;
		const text = this.body.slice(from, this.at);
		for (const column of path.columns) this.texts[column] = text;
	}

	#object({ parts }: Path): void {
		const seen = new Set<Path>();
		this.members((written) => {
			const part = parts.get(decoded(written));
			if (!part) return this.passValue();
			if (seen.has(part))
				for (const column of part.within) {
					this.texts[column] = undefined;
					this.isTwice[column] = true;
				}
			seen.add(part);
			this.read(part);
		});
	}

	#array({ parts }: Path): void {
		this.items((index) => {
			const part = parts.get(String(index));
			if (part) this.read(part);
			else this.passValue();
		});
	}
}

/**
 * The body without what columns hold, as the value of a text column: JSON text with the objects on the way, so it is never longer than
 * the body. Nulls and empty objects of the objects that it goes into are nothing, and a form's empty fields. Of several members with one name the last counts.
 * @param values Of the columns that the paths name.
 */
export function restOf(
	body: string,
	root: Path,
	values: readonly ColumnValue[],
	isForm = false,
): ColumnValue {
	const rest = new RestReader(body, values, isForm).read(root, true);
	return rest === undefined ? null : `=${rest}`;
}

/** It calls itself only along a path. */
class RestReader extends JsonReader {
	readonly #values: readonly ColumnValue[];
	readonly #nothing: readonly string[];

	constructor(body: string, values: readonly ColumnValue[], isForm: boolean) {
		super(body);
		this.#values = values;
		this.#nothing = ["null", "{}", ...(isForm ? [emptyText] : [])];
	}

	read({ columns, parts }: Path, isRoot = false): string | undefined {
		const isObject = this.next() === openBrace;
		const isHeld = columns.some((column) => this.#values[column] !== "?");
		if (isObject && !isHeld && (isRoot || parts.size > 0))
			return this.#object(parts);
		const text = this.text();
		return isHeld ? undefined : this.#somethingOf(text);
	}

	#object(parts: Path["parts"]): string | undefined {
		const rest = new Map<string, string>();
		this.members((written) => {
			const name = decoded(written);
			const part = parts.get(name);
			const value = part ? this.read(part) : this.#somethingOf(this.text());
			const wellFormed = name.toWellFormed();
			if (value === undefined) rest.delete(wellFormed);
			else rest.set(wellFormed, value);
		});
		if (rest.size === 0) return undefined;
		const members = [...rest].map(
			([name, value]) => `${JSON.stringify(name)}:${value}`,
		);
		return `{${members.join(",")}}`;
	}

	#somethingOf(json: string): string | undefined {
		const { text } = minifiedJson(json);
		return this.#nothing.includes(text) ? undefined : text;
	}
}

/*
 * Which bodies an Erase means, in the bucket and in every table: what the pointer names is the value, or a list that has it, as a
 * form's field that comes several times is. Of several members with one name each counts, since readers differ in which they take.
 */

export function isMeant(body: string, match: BodyMatch): boolean {
	try {
		return new MatchReader(body, match).isMatch();
	} catch (error) {
		if (error instanceof NotJson) return false;
		throw error;
	}
}

const meantFunction = "tidemill_body_means";

/** The same as a condition of DuckDB, by {@link defineBodyMatch}. */
export function meantSql(body: string, match: BodyMatch): string {
	return `(${meantFunction}(${body}, ${quoteText(JSON.stringify(match))}) = 'y')`;
}

export function defineBodyMatch(session: Session): void {
	const matches = new Map<string, BodyMatch>();
	const call = (body: string, text: string) => {
		const match: BodyMatch = matches.get(text) ?? JSON.parse(text);
		matches.set(text, match);
		return isMeant(body, match) ? "y" : "n";
	};
	session.define(meantFunction, call, { isConstant: true });
}

/**
 * A pattern of RE2 that every body has that may be meant, so that a warehouse sends no others; undefined if most have it. A character
 * may be written as an escape.
 */
export function meantPattern({
	equals,
	equalsNumber,
}: BodyMatch): string | undefined {
	if (equals !== undefined)
		return equals === ""
			? undefined
			: `\\\\|${equals.replace(/[^\p{L}\p{N}]/gu, (sign) => `\\x{${sign.codePointAt(0)!.toString(16)}}`)}`;
	const [, digits] = /^-?(\d+)e/.exec(canonicalNumber(equalsNumber)) ?? [];
	return digits && [...digits].join("\\.?");
}

/** Calls itself only along the pointer. */
class MatchReader extends JsonReader {
	readonly #parts: string[];
	readonly #isValue: (json: string) => boolean;
	#isMatch = false;

	constructor(body: string, { bodyPointer, equals, equalsNumber }: BodyMatch) {
		super(body);
		this.#parts = pointerParts(bodyPointer);
		const number = equalsNumber && canonicalNumber(equalsNumber);
		// Numbers that are one have one double: a list of a million others is passed quickly.
		const double = Number(equalsNumber);
		this.#isValue =
			equals === undefined
				? (json) =>
						Number(json) === double &&
						numberForm.test(json) &&
						canonicalNumber(json) === number
				: (json) => json[0] === '"' && decoded(json).toWellFormed() === equals;
	}

	isMatch(): boolean {
		this.#read(0);
		return this.#isMatch;
	}

	#read(depth: number): void {
		const part = this.#parts[depth];
		const first = this.next();
		const isList = first === openBracket;
		if (part === undefined && isList) this.items(() => this.#take());
		else if (part === undefined) this.#take();
		else if (isList)
			this.items((index) => {
				if (String(index) === part) this.#read(depth + 1);
				else this.passValue();
			});
		else if (first === openBrace)
			this.members((written) => {
				if (decoded(written) === part) this.#read(depth + 1);
				else this.passValue();
			});
		else this.passValue();
	}

	#take(): void {
		const json = this.text();
		this.#isMatch ||= this.#isValue(json);
	}
}

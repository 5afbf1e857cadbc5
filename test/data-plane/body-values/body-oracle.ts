// bignumber.js: decimal arithmetic without rounding, of another implementation than the product's.
import { BigNumber } from "bignumber.js";
// lossless-json: reads JSON and keeps the text of numbers; the product never uses it.
import { parse } from "lossless-json";
import type { BodyValueType } from "../../../packages/contracts/job.ts";
import { isDate, timeOf } from "./time-oracle.ts";

/* What a table must have for a body, by a reader of JSON that shares no code with the product. */

/** A number as it was written. */
class WrittenNumber {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
	}
}

/** What a column may have: each a text, or null. More than one where the documentation leaves it open. */
export interface ExpectedValue {
	values: readonly (string | null)[];
	/** Whether it counts in the Run's `unfitValues`. */
	isUnfit: boolean;
}

const repeated = Symbol("repeated");

/**
 * A body as JSON (RFC 8259); undefined if it is none. `isVague`: some member is there again with the same value, which
 * lossless-json doesn't tell.
 */
export function readBody(
	body: string,
): { json: unknown; isVague: boolean } | undefined {
	try {
		let members = 0;
		const json = parse(body, null, {
			parseNumber: (text) => new WrittenNumber(text),
			onDuplicateKey: ({ oldValue, newValue }) => {
				members += 1 + membersOf(isRepeated(oldValue) ? null : oldValue);
				return { [repeated]: true, last: newValue };
			},
		});
		// Without this, a body with a broken name would pass.
		JSON.parse(body);
		const names = body
			.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)
			.filter(([, colon]) => colon !== undefined)
			.reduce((count) => count + 1, 0);
		return { json, isVague: names !== members + membersOf(json) };
	} catch {
		return undefined;
	}
}

function membersOf(value: unknown): number {
	if (isRepeated(value)) return membersOf(value.last);
	if (typeof value !== "object" || value === null) return 0;
	if (value instanceof WrittenNumber) return 0;
	const own = Object.values(value);
	return own.reduce(
		(sum: number, each) => sum + membersOf(each),
		Array.isArray(value) ? 0 : own.length,
	);
}

/** What a column of this pointer and type has. */
export function expectedValue(
	json: unknown,
	pointer: string,
	type: BodyValueType,
): ExpectedValue {
	const found = valueAt(json, pointer);
	if (found === undefined || found === null) return fits(null);
	if (isRepeated(found)) {
		const last = expectedOf(found.last, type);
		return { values: [null, ...last.values], isUnfit: true };
	}
	return expectedOf(found, type);
}

function expectedOf(value: unknown, column: BodyValueType): ExpectedValue {
	if (value === null) return fits(null);
	const plain = value instanceof WrittenNumber ? value.text : value;
	if (column.type === "Decimal") return orUnfit(decimalOf(plain, column));
	if (column.type === "Timestamp") {
		const time = typeof plain === "string" ? timeOf(plain, column) : undefined;
		return time
			? { values: [String(time.micros)], isUnfit: time.isDoubtful }
			: unfit;
	}
	return expectedBy[column.type](value, plain);
}

const fits = (value: string | null): ExpectedValue => ({
	values: [value],
	isUnfit: false,
});
const unfit: ExpectedValue = { values: [null], isUnfit: true };
const orUnfit = (value: string | undefined) =>
	value === undefined ? unfit : fits(value);

const expectedBy: Record<
	Exclude<BodyValueType["type"], "Decimal" | "Timestamp">,
	/** @param plain A number's text, a string, or any other value. */
	(value: unknown, plain: unknown) => ExpectedValue
> = {
	String: (_, plain) =>
		typeof plain === "boolean"
			? fits(String(plain))
			: typeof plain === "string"
				? wellFormed(plain)
				: unfit,
	Integer: (_, plain) => orUnfit(integerOf(plain)),
	Number: (_, plain) => {
		const text = numberText(plain);
		const number = text === undefined ? Number.NaN : Number(text);
		return Number.isFinite(number) ? fits(String(number + 0)) : unfit;
	},
	Boolean: (_, plain) =>
		["true", "false"].includes(String(plain)) && typeof plain !== "object"
			? fits(String(plain))
			: unfit,
	Date: (value) =>
		typeof value === "string" && isDate(value) ? fits(value) : unfit,
	JSON: (value) => {
		const expected = wellFormed(canonical(value));
		return holdsRepeated(value) ? { ...expected, isUnfit: true } : expected;
	},
};

/** Half of a surrogate pair reads U+FFFD, or nothing, and counts. */
function wellFormed(text: string): ExpectedValue {
	return text.isWellFormed()
		? fits(text)
		: { values: [text.toWellFormed(), null], isUnfit: true };
}

function numberText(plain: unknown): string | undefined {
	return typeof plain === "string" &&
		/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(plain)
		? plain
		: undefined;
}

function integerOf(plain: unknown): string | undefined {
	const text = numberText(plain);
	if (text === undefined) return undefined;
	const exact = new BigNumber(text);
	const isWhole = exact.isInteger();
	const isIn =
		exact.gte("-9223372036854775808") && exact.lte("9223372036854775807");
	return isWhole && isIn ? BigInt(exact.toFixed(0)).toString() : undefined;
}

function decimalOf(
	plain: unknown,
	{ precision, scale }: { precision: number; scale: number },
): string | undefined {
	const text = numberText(plain);
	if (text === undefined) return undefined;
	const exact = new BigNumber(text);
	const isIn = exact.abs().lt(new BigNumber(10).pow(precision - scale));
	if (!isIn || exact.decimalPlaces()! > scale) return undefined;
	return decimalText(exact);
}

/** A decimal as DuckDB writes it, without zeros at its end. */
export function decimalText(value: string | BigNumber): string {
	return new BigNumber(value).isZero() ? "0" : new BigNumber(value).toFixed();
}

function valueAt(json: unknown, pointer: string): unknown {
	let value = json;
	const names = pointer
		.split("/")
		.slice(1)
		.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
	let wasRepeated = false;
	for (const name of names) {
		if (isRepeated(value)) {
			wasRepeated = true;
			value = value.last;
		}
		if (typeof value !== "object" || value === null) return undefined;
		if (value instanceof WrittenNumber) return undefined;
		if (!Object.hasOwn(value, name)) return undefined;
		value = (value as Record<string, unknown>)[name];
	}
	return wasRepeated && value !== undefined && !isRepeated(value)
		? { [repeated]: true, last: value }
		: value;
}

function holdsRepeated(value: unknown): boolean {
	if (isRepeated(value)) return true;
	if (typeof value !== "object" || value === null) return false;
	return Object.values(value).some(holdsRepeated);
}

function isRepeated(value: unknown): value is { last: unknown } {
	return typeof value === "object" && value !== null && repeated in value;
}

/** A JSON text without white space; numbers as they are written in it. */
export function canonicalText(json: string): string {
	return canonical(readBody(json)?.json);
}

/** JSON without white space; numbers as they were written. */
function canonical(value: unknown): string {
	if (value instanceof WrittenNumber) return value.text;
	if (isRepeated(value)) return canonical(value.last);
	if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
	if (typeof value === "object" && value !== null)
		return `{${Object.entries(value)
			.map(([name, each]) => `${text(name)}:${canonical(each)}`)
			.join(",")}}`;
	return typeof value === "string" ? text(value) : String(value);
}

/** JSON.stringify escapes halves of pairs, which would hide them. */
function text(value: string): string {
	return value.isWellFormed()
		? JSON.stringify(value)
		: JSON.stringify(value.toWellFormed()).replace("\ufffd", "\ud800");
}

/** What Postgres holds of it: no U+0000, and in `jsonb` neither numbers beyond `numeric` nor texts of more than 1,000 levels. */
export function inPostgres(
	{ values, isUnfit }: ExpectedValue,
	{ type }: BodyValueType,
): ExpectedValue {
	const held = values.map((value) => {
		if (value === null) return null;
		if (type === "JSON") return jsonbText(value);
		return value.includes("\0") ? null : value;
	});
	return {
		values: held,
		isUnfit:
			isUnfit ||
			held.some((value, index) => value !== values[index] && value === null),
	};
}

/** As `jsonb` has it, but that members are sorted here; null for what it can't hold. */
export function jsonbText(json: string): string | null {
	let holdsAll = true;
	const of = (value: unknown, depth: number): string => {
		if (depth > 1_000) holdsAll = false;
		if (!holdsAll) return "";
		if (value instanceof WrittenNumber) {
			const number = new BigNumber(value.text);
			const [exponent, digits] = [number.e ?? 0, number.dp() ?? 0];
			// Trailing zeros count, too, as they are written.
			if (exponent > 131_071 || digits > 16_383) holdsAll = false;
			return holdsAll ? number.plus(0).toFixed().replace(/^-0$/, "0") : "";
		}
		if (typeof value === "string") {
			if (value.includes("\0")) holdsAll = false;
			return JSON.stringify(value);
		}
		if (Array.isArray(value))
			return `[${value.map((each) => of(each, depth + 1)).join(",")}]`;
		if (typeof value === "object" && value !== null)
			return `{${Object.entries(value)
				.map(([name, each]) => `${of(name, depth)}:${of(each, depth + 1)}`)
				.sort()
				.join(",")}}`;
		return String(value);
	};
	const text = of(readBody(json)?.json, 0);
	return holdsAll ? text : null;
}

import {
	canonicalNumber,
	decimalParts,
	isKept,
	isWhole,
	parseNumbers,
	rawNumber,
	rawNumberOf,
} from "../../json/json-reader.ts";
import type { Fuel } from "./fuel.ts";

/**
 * The numbers of a JSON text that JavaScript can't hold as they are written. Each has a number in its place that no other value
 * of the text has: the code that ajv generates takes it for a number, an integer if it is one, and what compares it asks here.
 */
export class ExactNumbers {
	readonly #texts = new Map<number, string>();
	/** Whether there is one that is too large to count with. */
	hasTooLarge = false;

	/** @throws SyntaxError */
	parse(text: string): unknown {
		return parseNumbers(text, (source, value) => this.#of(source, value));
	}

	/** The same of a value of parseExact. */
	valueOf(value: unknown): unknown {
		if (typeof value === "number") return this.#of(String(value), value);
		if (typeof value !== "object" || value === null) return value;
		const text = rawNumberOf(value);
		if (text !== undefined) return this.#of(text, Number(text));
		if (Array.isArray(value)) return value.map((item) => this.valueOf(item));
		return Object.fromEntries(
			Object.entries(value).map(([key, item]) => [key, this.valueOf(item)]),
		);
	}

	/** As it is written; undefined if it is a number of JavaScript. */
	textOf(value: number): string | undefined {
		return this.#texts.size > 0 ? this.#texts.get(value) : undefined;
	}

	/** JSON text of a value that {@link valueOf} made, with its numbers as they are written. */
	textIn(value: unknown): string {
		return JSON.stringify(value, (_, item) => {
			const text = typeof item === "number" ? this.textOf(item) : undefined;
			return text === undefined ? item : rawNumber(text);
		});
	}

	#of(source: string, value: number): number {
		const tooLarge = isTooLarge(source);
		if (!isPlace(value) && !tooLarge && isKept(source, value)) return value;
		this.hasTooLarge ||= tooLarge;
		const { size } = this.#texts;
		const place = isWhole(source)
			? 2 ** 1_000 + size * 2 ** 948
			: 2 ** -1_000 + size * 2 ** -1_052;
		const signed = source.startsWith("-") ? -place : place;
		this.#texts.set(signed, source);
		return signed;
	}
}

const maxDigits = 400;

/** More digits than a number may have, or a larger power of ten. */
export function isTooLarge(text: string): boolean {
	if (text.length <= maxDigits && !/e/i.test(text)) return false;
	const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
	return (
		mantissa.replace(/[-.]/g, "").length > maxDigits ||
		Math.abs(Number(exponent)) > maxDigits
	);
}

/** Numbers as large or as small as those that stand in the place of others. */
function isPlace(value: number): boolean {
	const size = Math.abs(value);
	return size >= 2 ** 1_000 || (size > 0 && size < 2 ** -999);
}

/** A decimal number: `digits` times ten to the power of `exponent`. */
interface Decimal {
	digits: bigint;
	exponent: number;
}

function decimalOf(text: string): Decimal {
	const { sign, digits, exponent } = decimalParts(text);
	const value = BigInt(digits);
	return { digits: sign === "-" ? -value : value, exponent };
}

/** A number of a schema: what `minimum` and its like compare with. */
export interface SchemaNumber {
	value: number;
	text: string;
}

/** Compares the numbers of events with those of schemas, as they are written. Long ones burn fuel. */
export class NumberTools {
	/** Of the event that is validated. */
	numbers = new ExactNumbers();
	readonly #fuel: Fuel;

	constructor(fuel: Fuel) {
		this.#fuel = fuel;
	}

	/** @param text as it is written, where JavaScript would change it. */
	limit(value: number, text = String(value)): SchemaNumber {
		return { value, text };
	}

	/** Below, at or above zero as the number is below, at or above the other. One that is too large is neither. */
	compare(data: number, { value, text }: SchemaNumber): number {
		const own = this.numbers.textOf(data);
		// The shortest decimals of two numbers stand in the numbers' order.
		if (own === undefined && text === String(value)) return data - value;
		const [one, other] = this.#aligned(own ?? String(data), text) ?? [0n, 0n];
		return one < other ? -1 : one > other ? 1 : 0;
	}

	isMultiple(data: number, { value, text }: SchemaNumber): boolean {
		const own = this.numbers.textOf(data);
		if (own === undefined && Number.isSafeInteger(data))
			if (Number.isSafeInteger(value) && text === String(value))
				return data % value === 0;
		const [one, other] = this.#aligned(own ?? String(data), text) ?? [0n, 1n];
		return other === 0n ? one === 0n : one % other === 0n;
	}

	/** The same key for equal numbers only. None is the key of another value. */
	key(value: number): number | string {
		const text = this.numbers.textOf(value);
		if (text === undefined) return value;
		this.#burnFor(text);
		return isTooLarge(text) ? text : canonicalNumber(text);
	}

	/** As integers, by the same power of ten; undefined if one is too large. */
	#aligned(one: string, other: string): [bigint, bigint] | undefined {
		this.#burnFor(one);
		this.#burnFor(other);
		if (isTooLarge(one) || isTooLarge(other)) return undefined;
		const [a, b] = [decimalOf(one), decimalOf(other)];
		const exponent = Math.min(a.exponent, b.exponent);
		this.#fuel.burn((a.exponent + b.exponent - 2 * exponent) >> 3);
		const scaled = (number: Decimal) =>
			number.digits * 10n ** BigInt(number.exponent - exponent);
		return [scaled(a), scaled(b)];
	}

	/** Some hundred digits take some microseconds to divide. */
	#burnFor(text: string): void {
		this.#fuel.burn(4 + (text.length >> 3));
	}
}

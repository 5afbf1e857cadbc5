import { parseExact } from "../../json/json-reader.ts";
import { type FormatName, formats } from "./formats.ts";
import { Fuel } from "./fuel.ts";
import { ExactNumbers, NumberTools } from "./numbers.ts";
import { MeteredPattern } from "./pattern.ts";

/** What the generated code calls instead of what would take longer than its text shows. All of it burns fuel. */
export class PlanTools extends NumberTools {
	readonly #fuel: Fuel;
	readonly #patterns = new Map<string, MeteredPattern>();

	constructor(fuel: Fuel) {
		super(fuel);
		this.#fuel = fuel;
	}

	/** Code points, as JSON Schema counts them. */
	length(text: string): number {
		this.#fuel.burn(text.length >> 6);
		let length = text.length;
		for (let i = 0; i < text.length - 1; i++) {
			const code = text.charCodeAt(i);
			if (code < 0xd800 || code > 0xdbff) continue;
			const next = text.charCodeAt(i + 1);
			if (next < 0xdc00 || next > 0xdfff) continue;
			length--;
			i++;
		}
		return length;
	}

	keys(object: object): string[] {
		const keys = Object.keys(object);
		this.#fuel.burn(keys.length >> 2);
		return keys;
	}

	assign(to: object, from: object | undefined): object {
		if (from) this.keys(from);
		return Object.assign(to, from);
	}

	join<T>(errors: T[], more: T[]): T[] {
		this.#fuel.burn(more.length);
		for (const error of more) errors.push(error);
		return errors;
	}

	escape(key: string): string {
		this.#fuel.burn(key.length >> 6);
		return escapeToken(key);
	}

	pattern(source: string): MeteredPattern {
		let pattern = this.#patterns.get(source);
		if (!pattern) {
			pattern = new MeteredPattern(source, this.#fuel, this.#patterns);
			this.#patterns.set(source, pattern);
		}
		return pattern;
	}

	format(name: FormatName): (text: string) => boolean {
		const matches = formats[name];
		return (text) => {
			this.#fuel.burn(1 + (text.length >> 4));
			return text.length <= maxFormatLength && matches(text);
		};
	}

	/**
	 * For `enum` and `const`: whether a value is one of these.
	 * @param json A list, whose numbers count as they are written.
	 */
	oneOf(json: string): {
		values: unknown[];
		has(value: unknown): boolean;
	} {
		const numbers = new ExactNumbers();
		const values = numbers.parse(json) as unknown[];
		const own = new PlanTools(new Fuel());
		own.numbers = numbers;
		const simple = new Set(
			values
				.filter((value) => !isObject(value))
				.map((value) => own.#simpleKey(value)),
		);
		const objects = new Set(
			values.filter(isObject).map((value) => own.#canonical(value)),
		);
		const fuel = this.#fuel;
		return {
			values: parseExact(json) as unknown[],
			has: (value) => {
				if (isObject(value))
					return objects.size > 0 && objects.has(this.#canonical(value));
				if (typeof value === "string") fuel.burn(value.length >> 6);
				return simple.has(this.#simpleKey(value));
			},
		};
	}

	unique(items: unknown[]): boolean {
		const seen = new Set<unknown>();
		for (const item of items) {
			this.#fuel.burn(stepsPerKept);
			// No value that isn't an object equals a symbol-like text: simple values keep their own type.
			const key = isObject(item)
				? this.#canonical(item)
				: this.#simpleKey(item);
			if (seen.has(key)) return false;
			seen.add(key);
		}
		return true;
	}

	/** The same text for equal values only: properties in order, numbers by value. */
	#canonical(value: unknown): string {
		this.#fuel.burn(stepsPerKept);
		if (Array.isArray(value))
			return `[${value.map((item) => this.#canonical(item)).join()}]`;
		if (isObject(value)) {
			const entries = this.keys(value)
				.sort()
				.map((key) => {
					this.#fuel.burn(1 + (key.length >> 6));
					return `${JSON.stringify(key)}:${this.#canonical((value as Record<string, unknown>)[key])}`;
				});
			return `{${entries.join()}}`;
		}
		if (typeof value === "string") this.#fuel.burn(value.length >> 4);
		return typeof value === "number"
			? String(this.key(value))
			: JSON.stringify(value);
	}

	/** Never the canonical text of an object, which begins with a brace or a bracket, nor a number's key. */
	#simpleKey(value: unknown): unknown {
		if (typeof value === "number") return this.key(value);
		return typeof value === "string" ? `"${value}` : value;
	}
}

/** To make a text of a value, hash it and keep it takes so much longer than a round of a loop (measured with 80,000 items). */
const stepsPerKept = 24;

/** A longer string doesn't match any format. */
const maxFormatLength = 8_192;

/** A reference token of a JSON Pointer (RFC 6901 §3). */
export function escapeToken(key: string): string {
	return key.includes("~") || key.includes("/")
		? key.replaceAll("~", "~0").replaceAll("/", "~1")
		: key;
}

function isObject(value: unknown): value is object {
	return typeof value === "object" && value !== null;
}

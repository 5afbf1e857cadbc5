import type { PlanDocument } from "../contracts/tracking-plan.ts";
import { pointerParts } from "../json/json-pointer.ts";
import { parseNumbersAsTexts } from "../json/json-reader.ts";
import { ExactNumbers } from "./metered/numbers.ts";

/** Validating takes at least a step for each value, and memory for each before the first step. */
const maxValues = 250_000;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;

/** The value of a JSON text, and its numbers that JavaScript would change. */
export interface EventBody {
	value: unknown;
	numbers: ExactNumbers;
	/** As it was sent; empty where nobody knows. */
	text: string;
}

/**
 * Undefined if it is made of more values than an event may have.
 * @param json valid JSON.
 */
export function parseBody(json: Uint8Array): EventBody | undefined {
	const bytes = Buffer.from(json.buffer, json.byteOffset, json.length);
	if (hasTooManyValues(bytes)) return undefined;
	const text = bytes.toString();
	const numbers = new ExactNumbers();
	return { value: numbers.parse(text), numbers, text };
}

/** A comma or a bracket stands before each value but the first. */
function hasTooManyValues(json: Buffer): boolean {
	if (json.length <= maxValues) return false;
	let values = 1;
	for (let at = 0; at < json.length; at++) {
		const byte = json[at]!;
		if (byte === quote) at = endOfString(json, at);
		else if (byte === comma || byte === openBracket || byte === openBrace)
			values++;
	}
	return values > maxValues;
}

/** Where the string that begins here has its closing quote. */
function endOfString(json: Buffer, from: number): number {
	let at = from + 1;
	while (at < json.length && json[at] !== quote)
		at += json[at] === backslash ? 2 : 1;
	return at;
}

/** An event's type; undefined if it has none. A number counts as it is written, a boolean as its JSON text. */
export function eventTypeOf(
	eventType: PlanDocument["eventType"],
	{ value: body, text }: EventBody,
	header: string | undefined,
): string | undefined {
	if ("constant" in eventType) return eventType.constant;
	if ("header" in eventType) return header || undefined;
	const value = valueAt(body, eventType.bodyPointer);
	if (typeof value === "number")
		return writtenNumberAt(text, eventType.bodyPointer) ?? String(value);
	if (typeof value === "boolean") return String(value);
	return typeof value === "string" && value !== "" ? value : undefined;
}

/** Few types are numbers, so the text is read once more for those. */
function writtenNumberAt(text: string, pointer: string): string | undefined {
	if (text === "") return undefined;
	const written = valueAt(parseNumbersAsTexts(text), pointer);
	return typeof written === "string" ? written : undefined;
}

/** The value that a JSON Pointer names (RFC 6901 §4); undefined if there is none. */
export function valueAt(body: unknown, pointer: string): unknown {
	let value = body;
	for (const key of pointerParts(pointer)) {
		if (typeof value !== "object" || value === null) return undefined;
		if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
		if (!Object.hasOwn(value, key)) return undefined;
		value = (value as Record<string, unknown>)[key];
	}
	return value;
}

import type { BodyValueType } from "../../contracts/job.ts";
import { columnValue } from "./body-value.ts";
import { type BodyColumn, bodyPartOf } from "./body-values.ts";

/** A value that doesn't fit its column. */
export interface UnfitValue {
	/** The JSON text as it was sent, uncut. */
	text: string;
	/** In words without a value of the event. */
	reason: string;
}

/** What stands in a body at the pointer of a column that it doesn't fit, and why it doesn't. */
export function unfitValueOf(body: string, column: BodyColumn): UnfitValue {
	const part = bodyPartOf(body, column.bodyPointer);
	if (!part) return { text: body, reason: "The body is not JSON." };
	const { text = "", isTwice } = part;
	return {
		text,
		reason: isTwice
			? "Several members with one name lead to it; the last counts."
			: reasonOf(text, column),
	};
}

function reasonOf(text: string, column: BodyValueType): string {
	const { limits, ...unlimited } = column;
	const value = columnValue(text, unlimited) ?? "?";
	if (value.startsWith("!")) return oddWords[column.type] ?? halfPair;
	if (value === "?") return `Not ${wordsOf(column)}.`;
	const { years, objectDepth } = limits ?? {};
	if (column.type === "JSON" && objectDepth !== undefined)
		return `The warehouse's JSON is an object of 64-bit floating point numbers, at most ${objectDepth} levels deep, in which no two values have the same path of names.`;
	return years
		? `The warehouse holds the years ${years.join(" to ")}.`
		: `Beyond what the column's type holds.`;
}

const halfPair = "It has half of a surrogate pair, which is U+FFFD in the row.";

const oddWords: Partial<Record<BodyValueType["type"], string>> = {
	JSON: "Programs read it differently: an object has several members with one name, or a text half of a surrogate pair.",
	Timestamp: "Programs may read another instant.",
};

function wordsOf(column: BodyValueType): string {
	switch (column.type) {
		case "String":
			return "a text, a number, true or false";
		case "Integer":
			return "a whole number of 64 bits";
		case "Number":
			return "a number that 64-bit floating point holds";
		case "Decimal":
			return `a number of at most ${column.precision} digits, of which ${column.scale} stand after the point`;
		case "Boolean":
			return "true or false";
		case "Timestamp":
			return `a time as ${column.format ?? "RFC 3339"} writes it`;
		case "Date":
			return "a date such as 2026-03-01";
		case "JSON":
			return "JSON that the column holds";
	}
}

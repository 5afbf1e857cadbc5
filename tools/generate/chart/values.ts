// yaml: gives each value's comment, which no other parser keeps.
import { isMap, isScalar, type Pair, parse, parseDocument } from "yaml";

/** One value of the chart, or a group of them. */
export interface ChartValue {
	/** Such as `receive.url`. */
	path: string;
	key: string;
	default: unknown;
	/** Its comment in values.yaml. */
	text: string;
	/** Keywords of JSON Schema, from the comment's line `@schema`. */
	keywords: Record<string, unknown>;
	/** The values of a group whose keys are known; undefined for a single value. */
	children: ChartValue[] | undefined;
}

/** Reads the chart's values with their comments. Throws if a value has no comment. */
export function readValues(text: string): ChartValue[] {
	const { contents } = parseDocument(text);
	if (!isMap(contents)) throw new Error("values.yaml is not a map");
	// The parser keeps the first value's comment at the map.
	const first = contents.commentBefore ?? "";
	return contents.items.map((pair, i) =>
		readValue(pair as Pair, "", i === 0 ? first : ""),
	);
}

function readValue(pair: Pair, parent: string, fallback: string): ChartValue {
	const { key, value } = pair;
	if (!isScalar(key)) throw new Error(`${parent} has a key that isn't text`);
	const name = String(key.value);
	const path = parent ? `${parent}.${name}` : name;
	const comment = (key.commentBefore ?? fallback).split(/\n\s*\n/).at(-1)!;
	const lines = comment.split("\n").map((line) => line.trim());
	const schema = lines.filter((line) => line.startsWith("@schema "));
	const keywords = schema.map((line) => parse(`{${line.slice(8)}}`));
	const result = {
		path,
		key: name,
		text: lines.filter((line) => !line.startsWith("@schema ")).join(" "),
		keywords: Object.assign({}, ...keywords),
	};
	// Keys that the chart doesn't know may be there, so the whole is one value.
	const isOpen = "additionalProperties" in result.keywords;
	if (isMap(value) && value.items.length > 0 && !isOpen) {
		const first = value.commentBefore ?? "";
		const children = value.items.map((child, i) =>
			readValue(child as Pair, path, i === 0 ? first : ""),
		);
		return { ...result, default: undefined, children };
	}
	if (!result.text)
		throw new Error(`${path} in values.yaml has no comment that explains it`);
	const plain =
		value === null ? null : (value as { toJSON(): unknown }).toJSON();
	return { ...result, default: plain, children: undefined };
}

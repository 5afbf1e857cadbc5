// yaml: gives each value's comment, which no other parser keeps.
import { isMap, isScalar, type Pair, parse, parseDocument } from "yaml";
import { table } from "../markdown.ts";
import { formOf, forms } from "./value-forms.ts";

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

/** A table of the values that stand alone, and one of each group below its heading. */
export function valuesTables(values: ChartValue[]): string {
	const loose = values.filter(({ children }) => !children);
	const groups = values.filter(({ children }) => children);
	return [
		...valueTable(loose),
		...groups.flatMap((group) => [`## ${group.key}\n`, ...valueTable([group])]),
	].join("\n");
}

function valueTable(values: ChartValue[]): string[] {
	return table(
		["Value", "Default", "Meaning"],
		values.flatMap(leaves).map(row),
	);
}

function leaves(value: ChartValue): ChartValue[] {
	return value.children ? value.children.flatMap(leaves) : [value];
}

function row({ path, text, keywords, ...value }: ChartValue): string[] {
	const isEmpty = value.default === "" || value.default === null;
	const shown = isEmpty ? "" : `\`${JSON.stringify(value.default)}\``;
	const allowed = keywords.enum as unknown[] | undefined;
	const choice = allowed ? ` One of ${list(allowed)}.` : "";
	return [`\`${path}\``, shown, text + choice];
}

function list(values: unknown[]): string {
	return values.map((value) => `\`${value === "" ? '""' : value}\``).join(", ");
}

type Schema = Record<string, unknown>;

/**
 * The chart's values.schema.json, from which editors show what each value is. It refuses nothing: Helm would say neither the value
 * nor the right form, and stop before the chart's templates do, by {@link valueRules}.
 */
export function valuesSchema(values: ChartValue[]): Schema {
	const group = (values: ChartValue[]): Schema =>
		Object.fromEntries(
			values.map(({ key, text, children }) => [
				key,
				{
					...(text && { description: text }),
					...(children && { properties: group(children) }),
				},
			]),
		);
	return {
		$schema: "http://json-schema.org/draft-07/schema#",
		title: "Values of the Helm chart tidemill",
		properties: group(values),
	};
}

/** What the values may be, as a JSON Schema with every value's default: templates/cluster/values/_rules.tpl refuses others. */
export function valueRules(values: ChartValue[]) {
	return { ...group(values), definitions: forms };
}

function group(values: ChartValue[]): { properties: Schema } {
	return {
		properties: Object.fromEntries(
			values.map((value) => [value.key, ruleOf(value)]),
		),
	};
}

function ruleOf({
	path,
	keywords,
	children,
	default: fallback,
}: ChartValue): Schema {
	if (children)
		return {
			...group(children),
			// Helm adds it where the chart is part of another one, with values of that one.
			...(path === "global" && { additionalProperties: true }),
		};
	return {
		default: fallback,
		...(formOf(path) ?? { type: typeOf(fallback), ...keywords }),
	};
}

function typeOf(value: unknown): string {
	if (Array.isArray(value)) return "array";
	if (typeof value === "number") return "integer";
	return typeof value;
}

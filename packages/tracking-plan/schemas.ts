import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { parseExact } from "../json/json-reader.ts";

export interface PlanSchema {
	/** Where it stands, for people. */
	place: string;
	/** What others in the plan may refer to it by, besides its own `$id`: `common` has the URI `plan:/common`. */
	uri: string;
	/** Its name in the plan's code. */
	name: string;
	draft: Draft;
	schema: EventSchema;
}

interface Draft {
	uri: string;
	title: string;
}

/** The plan's schemas: `common`, and those of its types in their order. */
export function schemasOf({ common, events }: PlanDocument): PlanSchema[] {
	const all = [
		{ place: "spec.common", name: "common", schema: common },
		...events.map(({ type, schema }, index) => ({
			place: `spec.events[${index}].schema (of "${type}")`,
			name: eventName(index),
			schema,
		})),
	];
	return all.flatMap(({ schema, place, name }) => {
		if (schema === undefined) return [];
		const draft = draftOf(schema);
		return [
			{
				place,
				name,
				uri: `plan:/${name}`,
				draft,
				schema: draft.uri === draft07 ? withoutSiblings(schema) : schema,
			},
		];
	});
}

/** The name of an event's schema in the plan's code. */
export function eventName(index: number): string {
	return `event-${index}`;
}

/**
 * The name of the same schema's code that ends at the first error. Most events have none, and a union then costs the branch
 * that matches, and not all errors of the others.
 */
export function quickName(name: string): string {
	return `quick-${name}`;
}

const draft07 = "http://json-schema.org/draft-07/schema";

/** The first is that of schemas without `$schema`. */
export const drafts: Draft[] = [
	{
		uri: "https://json-schema.org/draft/2020-12/schema",
		title: "JSON Schema 2020-12",
	},
	{
		uri: "https://json-schema.org/draft/2019-09/schema",
		title: "JSON Schema 2019-09",
	},
	{ uri: draft07, title: "JSON Schema draft-07" },
];

/** The draft that `$schema` names, whether or not it is one that plans may have. */
function draftOf(schema: EventSchema): Draft {
	const named = typeof schema === "object" ? schema.$schema : undefined;
	if (named === undefined) return drafts[0]!;
	const uri = String(named).replace(/#$/, "");
	return drafts.find((draft) => draft.uri === uri) ?? { uri, title: uri };
}

/** Draft-07 ignores what stands beside a `$ref` (Core §8.3). Definitions stay, since others refer to them. */
function withoutSiblings(schema: EventSchema): EventSchema {
	if (typeof schema !== "object") return schema;
	// Numbers stay as they are written, which structuredClone can't copy.
	const copy = parseExact(JSON.stringify(schema)) as SchemaKeywords;
	const open: Record<string, unknown>[] = [copy];
	for (let next = open.pop(); next; next = open.pop()) {
		if (typeof next.$ref === "string")
			for (const keyword of Object.keys(next))
				if (!besideRef.has(keyword) && !(next === copy && keyword === "$id"))
					delete next[keyword];
		for (const { schema: child } of childSchemas(next)) open.push(child);
	}
	return copy;
}

const besideRef = new Set(["$ref", "$schema", "definitions", "$defs"]);

export type SchemaKeywords = Record<string, unknown>;

interface ChildSchema {
	schema: SchemaKeywords;
	/** JSON Pointer from the schema that holds it, as its tokens. */
	at: string[];
}

/** The schemas directly in a schema, where the drafts put them. Those that are true or false hold none. */
export function childSchemas(schema: SchemaKeywords): ChildSchema[] {
	return Object.entries(schema).flatMap(([keyword, value]) => {
		if (!isObject(value)) return [];
		const held = holders.get(keyword);
		if (held === "one" || (held === "oneOrList" && !Array.isArray(value)))
			return Array.isArray(value) ? [] : [{ schema: value, at: [keyword] }];
		if (held === "list" || held === "oneOrList")
			return Array.isArray(value) ? entriesOf(keyword, value) : [];
		if (held === "map")
			return Array.isArray(value) ? [] : entriesOf(keyword, value);
		return [];
	});
}

function entriesOf(keyword: string, value: object): ChildSchema[] {
	return Object.entries(value).flatMap(([key, schema]) =>
		isObject(schema) && !Array.isArray(schema)
			? [{ schema, at: [keyword, key] }]
			: [],
	);
}

export function isObject(value: unknown): value is SchemaKeywords {
	return typeof value === "object" && value !== null;
}

/** A Map, because keywords may be named as what every object has. */
const holders = new Map<string, "one" | "list" | "oneOrList" | "map">([
	["additionalItems", "one"],
	["additionalProperties", "one"],
	["allOf", "list"],
	["anyOf", "list"],
	["contains", "one"],
	["contentSchema", "one"],
	["definitions", "map"],
	["$defs", "map"],
	["dependencies", "map"],
	["dependentSchemas", "map"],
	["else", "one"],
	["if", "one"],
	["items", "oneOrList"],
	["not", "one"],
	["oneOf", "list"],
	["patternProperties", "map"],
	["prefixItems", "list"],
	["properties", "map"],
	["propertyNames", "one"],
	["then", "one"],
	["unevaluatedItems", "one"],
	["unevaluatedProperties", "one"],
]);

export type SchemaObject = Record<string, unknown>;

export interface ChildSchema {
	schema: SchemaObject;
	/** JSON Pointer from the schema that holds it, as its tokens. */
	at: string[];
}

/** The schemas directly in a schema, where the drafts put them. Those that are true or false hold none. */
export function childSchemas(schema: SchemaObject): ChildSchema[] {
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

export function isObject(value: unknown): value is SchemaObject {
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

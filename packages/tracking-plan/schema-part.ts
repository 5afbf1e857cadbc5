import type { Tools } from "./metered/tools.ts";
import { isObject, type SchemaObject } from "./subschemas.ts";

/** What one schema says about properties and items. */
export interface SchemaPart {
	id: number;
	/** The schemas that apply to the same value. */
	inPlace: SchemaObject[];
	/** How many properties and patterns it names; one if it says that there are no others. */
	names: number;
	properties: SchemaObject;
	patterns: { pattern: { test(key: string): boolean }; schema: unknown }[];
	/** The schema of properties without a name. */
	others: unknown;
	required: Set<unknown>;
	tuple: unknown[];
	/** The schema of the items after the tuple's. */
	rest: unknown;
	anywhere: unknown[];
}

/** @param targets What its references lead to. */
export function schemaPart(
	schema: SchemaObject,
	id: number,
	targets: SchemaObject[],
	tools: Tools,
): SchemaPart {
	const { additionalProperties, unevaluatedProperties, required } = schema;
	const { items, prefixItems, additionalItems } = schema;
	const others = additionalProperties ?? unevaluatedProperties;
	const properties = isObject(schema.properties) ? schema.properties : {};
	const patterns = isObject(schema.patternProperties)
		? Object.entries(schema.patternProperties)
		: [];
	const tuples = [prefixItems, items].filter(Array.isArray) as unknown[][];
	return {
		id,
		inPlace: [...inPlace(schema), ...targets],
		names:
			Object.keys(properties).length +
			patterns.length +
			(others === false ? 1 : 0),
		properties,
		patterns: patterns.map(([source, value]) => ({
			pattern: tools.pattern(source),
			schema: value,
		})),
		others,
		required: new Set(Array.isArray(required) ? required : []),
		tuple: tuples[0] ?? [],
		rest: Array.isArray(items) ? additionalItems : items,
		anywhere: [schema.contains, schema.unevaluatedItems],
	};
}

function inPlace(schema: SchemaObject): SchemaObject[] {
	const { allOf, anyOf, oneOf, dependentSchemas, dependencies } = schema;
	return [
		...[allOf, anyOf, oneOf].filter(Array.isArray).flat(),
		...[dependentSchemas, dependencies].filter(isObject).flatMap(Object.values),
		schema.if,
		schema.then,
		schema.else,
	].filter(isSchemaObject);
}

export function isSchemaObject(schema: unknown): schema is SchemaObject {
	return isObject(schema) && !Array.isArray(schema);
}

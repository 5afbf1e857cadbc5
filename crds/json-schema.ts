import type { Schema } from "./resource-schema.ts";

/** A JSON Schema (2020-12). */
export type JsonSchema = { [keyword: string]: unknown };

/**
 * The JSON Schema that says what a CRD's schema says, except its CEL rules, which only the apiserver judges.
 * Where the apiserver drops a field that it doesn't know, this refuses it: a typing error shall be told.
 */
export function jsonSchema(schema: Schema): JsonSchema {
	if (schema["x-kubernetes-int-or-string"])
		return { type: ["integer", "string"], pattern: schema.pattern };
	const result: JsonSchema = {};
	for (const [keyword, value] of Object.entries(schema))
		if (!keyword.startsWith("x-kubernetes-")) result[keyword] = value;
	// int32 and int64 are no formats of JSON Schema, and the bounds say more.
	if (schema.type === "integer") delete result.format;
	if (schema.items) result.items = jsonSchema(schema.items);
	if (schema["x-kubernetes-list-type"] === "set") result.uniqueItems = true;
	if (schema.additionalProperties)
		result.additionalProperties = jsonSchema(schema.additionalProperties);
	if (schema.properties) {
		result.properties = Object.fromEntries(
			Object.entries(schema.properties).map(([name, property]) => [
				name,
				jsonSchema(property),
			]),
		);
		result.additionalProperties = false;
	}
	return result;
}

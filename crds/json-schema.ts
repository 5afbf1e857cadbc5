import type { Schema } from "./resource-schema.ts";

/** A JSON Schema (2020-12). */
export type SchemaObject = { [keyword: string]: unknown };

/**
 * A CRD's schema as JSON Schema, without its CEL rules, which only the apiserver checks.
 * It refuses unknown fields, which the apiserver drops, to show typing errors.
 */
export function jsonSchema(schema: Schema): SchemaObject {
	if (schema["x-kubernetes-int-or-string"]) {
		const { maxLength, pattern } = schema;
		return { type: ["integer", "string"], maxLength, pattern };
	}
	const result: SchemaObject = {};
	for (const [keyword, value] of Object.entries(schema))
		if (!keyword.startsWith("x-kubernetes-")) result[keyword] = value;
	// JSON Schema has no formats int32 and int64, and the bounds are stricter.
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

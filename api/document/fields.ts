import type { SchemaObject } from "../../crds/json-schema.ts";

/* What the schemas of the OpenAPI document are made of. `more`: further keywords of JSON Schema. */

/** A value with a description. */
export type SchemaField = SchemaObject & { description: string; type: string };

const fieldOf =
	(type: string, keywords: SchemaObject = {}) =>
	(description: string, more: SchemaObject = {}): SchemaField => ({
		description,
		type,
		...keywords,
		...more,
	});

export const text = fieldOf("string");
export const integer = fieldOf("integer");
export const count = fieldOf("integer", { minimum: 0 });
export const flag = fieldOf("boolean");
export const time = fieldOf("string", { format: "date-time" });
export const date = fieldOf("string", { format: "date" });
export const texts = fieldOf("object", {
	additionalProperties: { type: "string" },
});

export function choice(description: string, values: readonly string[]) {
	return { ...text(description), enum: [...values] };
}

export function list(
	description: string,
	items: SchemaObject,
	more: SchemaObject = {},
): SchemaObject {
	return { description, type: "array", items, ...more };
}

/** An object whose fields are all there, but for those whose name ends in `?`. */
export function object(
	description: string | undefined,
	fields: Record<string, SchemaObject>,
	more: SchemaObject = {},
): SchemaObject {
	const names = Object.keys(fields);
	const required = names.filter((name) => !name.endsWith("?"));
	return {
		...(description !== undefined && { description }),
		type: "object",
		...(required.length > 0 && { required }),
		properties: Object.fromEntries(
			names.map((name) => [name.replace("?", ""), fields[name]]),
		),
		...more,
	};
}

/** The schema of this name in the document. */
export function schemaRef(name: string): { $ref: string } {
	return { $ref: `#/components/schemas/${name}` };
}

import type { Schema } from "./resource-schema.ts";

/** A field that people set by itself, by its path in the spec, such as `table.name`. */
export interface CrdField {
	path: string;
	schema: Schema;
}

/**
 * The fields of a schema, in the CRD's order.
 * @param intoLists Lists of objects have the fields of their first item, such as `table.bodyColumns[0].name`.
 */
export function fieldsIn(
	schema: Schema,
	{ intoLists = false, path = "" } = {},
): CrdField[] {
	if (schema.properties)
		return Object.entries(schema.properties).flatMap(([name, property]) =>
			fieldsIn(property, {
				intoLists,
				path: path === "" ? name : `${path}.${name}`,
			}),
		);
	return intoLists && schema.items?.properties
		? fieldsIn(schema.items, { intoLists, path: `${path}[0]` })
		: [{ path, schema }];
}

/** The values that a field may have, if they are few. */
export function choicesOf(schema: Schema | undefined): string[] | undefined {
	return schema?.type === "boolean"
		? ["true", "false"]
		: schema?.enum?.map(String);
}

import type { EventSchema } from "../../packages/contracts/tracking-plan.ts";
import {
	type JsonType,
	merge,
	newShape,
	type ValueShape,
} from "./draft-shape.ts";

/** A value of an enumeration was seen so often on average, so that a handful of events proposes none. */
const sightings = 10;
const enumerable = /^[A-Za-z0-9][A-Za-z0-9._:/ -]*$/;

/** An object with more names has a schema for each, unless it has few of them at a time. */
const manyNames = 40;
/** Names of data, such as identifiers, numbers and dates. */
const dataName =
	/^(\d[\d.:T+Z-]*|[0-9a-f]{16,}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[^@\s]+@[^@\s]+)$/i;
const fewDataNames = 3;

/**
 * A JSON Schema that all values of the shape fit.
 * @param depth How deep it goes. Below, an object or array may hold anything.
 */
export function schemaOf(shape: ValueShape, depth: number): EventSchema {
	const types = typesOf(shape);
	if (types.length === 0) return true;
	const schema: Record<string, unknown> = {
		type: types.length === 1 ? types[0] : types,
	};
	const values = types.includes("string") ? valuesOf(shape) : undefined;
	if (values && types.length === 1) schema.enum = values;
	else if (shape.format && types.includes("string"))
		schema.format = shape.format;
	if (depth === 0) return schema;
	if (shape.items) schema.items = schemaOf(shape.items, depth - 1);
	if (types.includes("object")) Object.assign(schema, inside(shape, depth));
	return schema;
}

function inside(shape: ValueShape, depth: number): Record<string, unknown> {
	const values = dataOf(shape);
	if (values) return { additionalProperties: schemaOf(values, depth - 1) };
	const properties = [...(shape.properties ?? [])];
	const objects = shape.types.get("object")!;
	const required = properties
		.filter(([, { count }]) => count === objects)
		.map(([name]) => name);
	return {
		...(required.length > 0 && { required }),
		...(properties.length > 0 && {
			properties: Object.fromEntries(
				properties.map(([name, each]) => [name, schemaOf(each, depth - 1)]),
			),
		}),
		...(shape.isOpen && { additionalProperties: true }),
	};
}

/** The values of an object whose names are data; undefined if its names mean something. */
function dataOf({
	values,
	properties,
	types,
}: ValueShape): ValueShape | undefined {
	if (values || !properties) return values;
	const names = [...properties.keys()];
	const objects = types.get("object") ?? 1;
	let present = 0;
	for (const { count } of properties.values()) present += count;
	const isSparse =
		names.length > manyNames && present / objects < names.length / 4;
	const areData =
		names.length >= fewDataNames && names.every((name) => dataName.test(name));
	if (!isSparse && !areData) return undefined;
	const all = newShape();
	for (const each of properties.values()) merge(all, each);
	return all;
}

/** An integer is a number, too. */
function typesOf({ types }: ValueShape): JsonType[] {
	return [...types.keys()]
		.filter((type) => type !== "integer" || !types.has("number"))
		.sort();
}

function valuesOf({ strings, types }: ValueShape): string[] | undefined {
	const count = types.get("string")!;
	if (!strings || count < strings.size * sightings) return undefined;
	const values = [...strings].sort();
	return values.every((value) => enumerable.test(value)) ? values : undefined;
}

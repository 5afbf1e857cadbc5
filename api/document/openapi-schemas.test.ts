import { expect, test } from "vitest";
import type { SchemaObject } from "../../crds/json-schema.ts";
import { endpoints } from "../endpoints.ts";
import { openApiSchemas } from "./openapi-schemas.ts";

const schemas = openApiSchemas();
const bodies = [
	...new Set(endpoints.flatMap(({ body }) => (body ? [body.schema] : []))),
];

test.each(bodies)(
	"a client generated for %s may leave out what has a default",
	(name) => {
		expect(JSON.stringify(schemas[name])).not.toContain('"default":');
	},
);

test("a default is said in words, and answers have it as it is", () => {
	const at = (name: string, field: string) =>
		(schemas[name]!.properties as Record<string, object>)[field];
	expect(at("PipelineCreate", "overwritePeriodDays")).toMatchObject({
		description: expect.stringContaining("Default: `1`."),
	});
	expect(at("Pipeline", "overwritePeriodDays")).toMatchObject({ default: 1 });
});

// openapi-generator's Go has no words for one, and doesn't compile.
test.each(["Source", "Destination", "Pipeline", "Operation", "Run"])(
	"no field of the answer %s has an object as its default",
	(name) => {
		expect(JSON.stringify(schemas[name])).not.toMatch(/"default":[{[]/);
	},
);

// openapi-generator's Go makes `interface{}` of the first, and of the second a type that isn't there.
test("no text or map has allOf, and no schema has it beside oneOf", () => {
	const allOfs = Object.values(schemas)
		.flatMap(partsOf)
		.filter(({ allOf }) => allOf);
	expect(allOfs).not.toEqual([]);
	for (const { properties, items, oneOf, allOf } of allOfs) {
		expect(properties ?? items, JSON.stringify(allOf)).toBeDefined();
		expect(oneOf, JSON.stringify(allOf)).toBeUndefined();
	}
});

/** A schema and those of its fields and items. */
function partsOf(schema: SchemaObject): SchemaObject[] {
	const { properties = {}, items } = schema as {
		properties?: Record<string, SchemaObject>;
		items?: SchemaObject;
	};
	const parts = [...Object.values(properties), ...(items ? [items] : [])];
	return [schema, ...parts.flatMap(partsOf)];
}

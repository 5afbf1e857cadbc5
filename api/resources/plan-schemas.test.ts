import { expect, test } from "vitest";
import { planSchemaErrors } from "./spec-values.ts";

const types =
	"must be one of array, boolean, integer, null, number, object, string";

test.each([
	[{ type: "objekt" }, ".type", types],
	[
		{ properties: { "a/b": { properties: { total: { type: "numer" } } } } },
		'.properties["a/b"].properties.total.type',
		types,
	],
	[{ minLength: "3" }, ".minLength", "must be integer"],
	[{ required: "id" }, ".required", "must be array"],
	[{ properties: { id: 1 } }, ".properties.id", "must be object,boolean"],
	[
		{ $schema: "http://json-schema.org/draft-07/schema#", items: 1 },
		".items",
		"must be object,boolean",
	],
	[
		{ $schema: "https://json-schema.org/draft/2019-09/schema", type: "any" },
		".type",
		types,
	],
	[
		{ $schema: "http://json-schema.org/draft-04/schema#" },
		".$schema",
		"2020-12",
	],
])("the schema %j is refused at %s", (schema, path, message) => {
	const said = expect.stringContaining(message);
	expect(planSchemaErrors({ common: schema })).toEqual([
		{ path: `common${path}`, message: said },
	]);
	const events = [
		{ type: "ok", schema: {} },
		{ type: "bad", schema },
	];
	expect(planSchemaErrors({ events })).toEqual([
		{ path: `events[1].schema${path}`, message: said },
	]);
});

test.each([
	{},
	{ common: { type: ["object", "null"], properties: { a: true } } },
	{ common: { $ref: "#/$defs/nowhere", unknown: 1 } },
	{ common: 1, events: [1, { schema: 1 }, { schemaFrom: {} }] },
])("nothing is wrong with %j that its metaschema checks", (spec) => {
	expect(planSchemaErrors(spec as never)).toEqual([]);
});

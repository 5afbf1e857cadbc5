import { expect, test } from "vitest";
import type { EventSchema } from "../../packages/contracts/tracking-plan.ts";
import { rawNumber } from "../../packages/json/json-reader.ts";
import { plannedType } from "./planned-type.ts";

function planOf(...schemas: (EventSchema | undefined)[]) {
	return {
		events: schemas.map((schema, number) => ({
			type: `t${number}`,
			...(schema !== undefined && { schema }),
		})),
	};
}

const a = (schema: EventSchema): EventSchema => ({ properties: { a: schema } });
const either = (...all: EventSchema[]): EventSchema => ({ anyOf: all });

test.each<[string, EventSchema, string]>([
	["a string", { type: "string" }, "String"],
	["a time", { type: "string", format: "date-time" }, "Timestamp"],
	["a date or null", { type: ["string", "null"], format: "date" }, "Date"],
	["a string of another format", { type: "string", format: "uri" }, "String"],
	["an integer", { type: "integer" }, "Integer"],
	["a number", { type: "number" }, "Number"],
	[
		"an integer or a number",
		either({ type: "integer" }, { type: "number" }),
		"Number",
	],
	["a boolean", { type: "boolean" }, "Boolean"],
	["an object", { type: "object" }, "JSON"],
	["an object or an array", { type: ["object", "array"] }, "JSON"],
	["one of some texts", { enum: ["x", "y", null] }, "String"],
	["always the same", { const: 7 }, "Integer"],
	["longer than 53 bits", { const: rawNumber("9007199254740993") }, "Integer"],
	["of many digits", { enum: [rawNumber("1.234567890123456789")] }, "Number"],
	[
		"a time or a text",
		either({ type: "string", format: "date-time" }, { type: "string" }),
		"String",
	],
	["a number, one of some", { type: "number", enum: [1, 2] }, "Number"],
])("%s", (_, schema, expected) => {
	expect(plannedType("/a", planOf(a(schema)))).toBe(expected);
});

test.each<[string, string, EventSchema]>([
	["of a member", "/a/b", a({ properties: { b: { type: "integer" } } })],
	["of any member", "/a/b", a({ additionalProperties: { type: "integer" } })],
	["of an element", "/a/0", a({ items: { type: "integer" } })],
	[
		"of the second element",
		"/a/1",
		a({ prefixItems: [true, { type: "integer" }] }),
	],
	[
		"of the second element in draft-07",
		"/a/1",
		a({ items: [true, { type: "integer" }] }),
	],
	[
		"by reference",
		"/a",
		{
			...(a({ $ref: "#/$defs/x~1y" }) as object),
			$defs: { "x/y": { type: "integer" } },
		},
	],
	[
		"of one branch",
		"/a",
		{ if: a({ type: "string" }), else: { oneOf: [a({ type: "integer" })] } },
	],
	[
		"with a name that is a path",
		"/a~1b",
		{ properties: { "a/b": { type: "integer" } } },
	],
	[
		"of what refers to itself",
		"/n/n/v",
		{ properties: { n: { $ref: "#" }, v: { type: "integer" } } },
	],
])("the type %s", (_, pointer, schema) => {
	expect(plannedType(pointer, planOf(schema))).toBe("Integer");
});

test("a schema that is its own is looked into once", () => {
	const schema = {
		$ref: "#",
		allOf: [{ $ref: "#" }],
		...(a({ type: "integer" }) as object),
	};
	expect(plannedType("/a", planOf(schema))).toBe("Integer");
});

test("types that don't have it, and the schema for every event, count as they say", () => {
	const events = planOf(undefined, true, {}, a({ type: "integer" })).events;
	expect(plannedType("/a", { events })).toBe("Integer");
	const common = a({ type: "string" });
	expect(plannedType("/a", { common, events: [] })).toBe("String");
	expect(plannedType("/a", { common, events })).toEqual({
		problem: "says that /a is Integer or String",
	});
});

test.each<[string, EventSchema]>([
	["a schema without it", { properties: { b: { type: "string" } } }],
	["a schema that takes anything", a(true)],
	["null alone", a({ type: "null" })],
	["what every object has", a({ type: "toString", format: "constructor" })],
	["a reference to nowhere", a({ $ref: "#/$defs/x" })],
	["a reference to another document", a({ $ref: "https://example.com/x" })],
])("%s says nothing", (_, schema) => {
	expect(plannedType("/a", planOf(schema))).toBeUndefined();
});

test("a plan that was made to be walked for long is given up", () => {
	let deep: EventSchema = {};
	for (let depth = 0; depth < 30_000; depth++) deep = { allOf: [deep] };
	expect(plannedType("/a", planOf(deep))).toEqual({
		problem: "is too large to look /a up in it",
	});
});

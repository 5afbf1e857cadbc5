import { expect, test } from "vitest";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";

function plan(schema: EventSchema): PlanDocument {
	return {
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "fine" }, { type: "order", schema }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	};
}

function faultOf(document: PlanDocument): string | undefined {
	const compiled = compilePlan(document);
	return "fault" in compiled ? compiled.fault : undefined;
}

const fault = (schema: EventSchema) => faultOf(plan(schema));

test.each([
	["2020-12, when no draft is named", { prefixItems: [{ type: "string" }] }],
	[
		"2020-12",
		{
			$schema: "https://json-schema.org/draft/2020-12/schema",
			unevaluatedItems: false,
		},
	],
	[
		"2019-09",
		{
			$schema: "https://json-schema.org/draft/2019-09/schema",
			$recursiveRef: "#",
		},
	],
	[
		"draft-07",
		{
			$schema: "http://json-schema.org/draft-07/schema#",
			items: [{ type: "string" }],
		},
	],
	["a format", { type: "string", format: "date-time" }],
	["a keyword of somebody's own", { "x-owner": "shop" }],
	[
		"what it defines itself",
		{ $ref: "#/$defs/id", $defs: { id: { type: "integer" } } },
	],
])("%s is valid", (_, schema) => {
	expect(fault(schema)).toBeUndefined();
});

test.each([
	[
		"a type that is none",
		{ type: "strnig" },
		'spec.events[1].schema (of "order") is not JSON Schema 2020-12: /type must be',
	],
	[
		"what only an earlier draft has",
		{ items: [{ type: "string" }] },
		"is not JSON Schema 2020-12: /items must be object,boolean",
	],
	[
		"an unknown draft",
		{ $schema: "http://json-schema.org/draft-04/schema#" },
		'has the $schema "http://json-schema.org/draft-04/schema#". Take one of https:',
	],
	[
		"a draft named like what every object has",
		{ $schema: "constructor" },
		'has the $schema "constructor".',
	],
	[
		"a broken pattern",
		{ pattern: "(" },
		`can't be used: /pattern "(": Invalid regular`,
	],
	[
		"an $id that ends a comment",
		{ $id: "https://example.com/*/;process.exit();/*" },
		'has the $id "https://example.com/*/;process.exit();/*". It must not contain "*/".',
	],
	[
		"such an $id where only a $ref finds a schema",
		{ $ref: "#/const/0", const: [{ $id: ["*/;process.exit();/*"] }] },
		'has the $id ["*/;process.exit();/*"]. It must not contain "*/".',
	],
	[
		"a schema that validates later",
		{ properties: { id: { $async: true } } },
		"has $async, which is no keyword of JSON Schema. Remove it.",
	],
	[
		"a reference that leads nowhere",
		{ $ref: "https://example.com/order.json" },
		"can't be used: can't resolve reference https://example.com/order.json",
	],
])("%s is reported", (_, schema, words) => {
	expect(fault(schema)).toContain(words);
});

test("the schema of every event is checked", () => {
	const spec = { ...plan({}), common: { required: "id" } };
	expect(faultOf(spec)).toBe(
		"spec.common is not JSON Schema 2020-12: /required must be array.",
	);
});

test("a plan of five hundred types is checked, and no memory is kept", () => {
	const events = Array.from({ length: 500 }, (_, index) => ({
		type: `type-${index}`,
		schema: {
			$id: `https://example.com/${index}`,
			type: "object",
			properties: { id: { type: "string", minLength: index } },
		},
	}));
	const spec = { ...plan({}), events };
	expect(faultOf(spec)).toBeUndefined();
	// Ids that were kept would be taken now.
	expect(faultOf(structuredClone(spec))).toBeUndefined();
});

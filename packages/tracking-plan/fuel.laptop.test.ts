import { expect, test } from "vitest";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";
import { PlanValidator } from "./plan-validator.ts";

/* Whatever a schema and a body say, validating ends after a bounded number of steps. Without fuel, each takes minutes or for ever. */

function kindsOf(schema: EventSchema, body: unknown): string[] {
	const plan: PlanDocument = {
		version: 1,
		account: "shop",
		plan: "hostile",
		eventType: { constant: "order" },
		events: [{ type: "order", schema }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	};
	const compiled = compilePlan(plan);
	if ("fault" in compiled) throw new Error(compiled.fault);
	const { record } = new PlanValidator(plan, compiled.code).validate(
		body,
		undefined,
	);
	return [...new Set((record.violations ?? []).map(({ kind }) => kind))];
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
	Array.from({ length: count }, (_, index) => make(index));

const keys = (count: number) =>
	Object.fromEntries(times(count, (index) => [`key${index}`, index]));

/** Each of forty definitions refers to the next one twice. */
function doubling(union: "allOf" | "anyOf"): EventSchema {
	const next = (index: number) => ({ $ref: `#/$defs/d${index + 1}` });
	const steps = times(40, (index) => [
		`d${index}`,
		{ [union]: [next(index), next(index)] },
	]);
	const last = union === "anyOf" ? { type: "null" } : { type: "object" };
	return {
		$ref: "#/$defs/d0",
		$defs: { ...Object.fromEntries(steps), d40: last },
	};
}

function nested(depth: number): unknown {
	let body: unknown = [];
	for (let level = 0; level < depth; level++) body = [body];
	return body;
}

/** Keywords of the same value, as often as there are references to them. */
const often = (count: number, schema: EventSchema): EventSchema => ({
	allOf: times(count, () => ({ $ref: "#/$defs/it" })),
	$defs: { it: schema },
});

test.each<[string, EventSchema, unknown]>([
	["references that double, none of which matches", doubling("anyOf"), 1],
	["references that double, all of which match", doubling("allOf"), {}],
	["a reference to itself", { $ref: "#" }, {}],
	[
		"uniqueItems, again and again",
		often(300, { uniqueItems: true }),
		times(20_000, (index) => [index]),
	],
	[
		"uniqueItems of as many objects as a body has",
		{ uniqueItems: true },
		times(80_000, (a) => ({ a })),
	],
	[
		"uniqueItems of as many texts as a body has",
		{ uniqueItems: true },
		times(80_000, (index) => `s${index}`),
	],
	[
		"an enum of objects for many items",
		often(300, {
			items: { enum: times(500, (index) => ({ a: [index, index] })) },
		}),
		times(5_000, (index) => ({ a: [index, 0] })),
	],
	[
		"patterns of many names",
		{
			patternProperties: Object.fromEntries(
				times(500, (index) => [`^(a|b)*${index}$`, {}]),
			),
		},
		keys(20_000),
	],
	[
		"contains in contains",
		often(300, {
			contains: { contains: { const: 1 }, minContains: 3 },
			minContains: 50_000,
		}),
		times(500, () => times(500, () => 0)),
	],
	[
		"an object's properties counted",
		often(300, { minProperties: 1 }),
		keys(20_000),
	],
	[
		"names of properties, again and again",
		often(300, { not: { propertyNames: { maxLength: 1 } } }),
		keys(20_000),
	],
	[
		"a deep body",
		{
			$ref: "#/$defs/list",
			$defs: { list: { items: { $ref: "#/$defs/list" } } },
		},
		nested(100_000),
	],
	[
		"errors of many items",
		often(20, { items: { type: "string" } }),
		times(100_000, () => 0),
	],
	[
		"unplanned properties under a long name",
		{ additionalProperties: { properties: { a: {} } } },
		{ ["x".repeat(1_000_000)]: keys(50_000) },
	],
	[
		"a long text measured",
		often(300, { minLength: 600_000, maxLength: 900_000 }),
		"é".repeat(1_000_000),
	],
	[
		"a pattern of many instructions on a long text",
		{ pattern: "(a|b)*a(a|b){500}$" },
		"ab".repeat(500_000),
	],
])("%s takes a bounded number of steps", (_, schema, body) => {
	expect(kindsOf(schema, body)).toContain("TooComplex");
});

test("a plan whose code is too deep for the compiler is a fault of that plan", () => {
	const plan = {
		version: 1,
		account: "shop",
		plan: "hostile",
		eventType: { constant: "order" },
		events: [{ type: "order", schema: often(6_000, { minProperties: 1 }) }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
	} as const satisfies PlanDocument;
	expect(compilePlan(plan)).toEqual({
		fault: expect.stringContaining("nested too deeply, or too many"),
	});
});

test("a pattern that would take the engine exponential time is validated on a megabyte", () => {
	const body = `${"a".repeat(1_000_000)}!`;
	expect(kindsOf({ pattern: "(a+)+$" }, body)).toEqual(["FormatMismatch"]);
});

test("an honest event of a megabyte is validated", () => {
	const schema = {
		items: {
			type: "object",
			required: ["id"],
			properties: {
				id: { type: "string", format: "uuid" },
				name: { type: "string", minLength: 1, pattern: "^[a-z ]+$" },
				amount: { type: "number", minimum: 0 },
				kind: { enum: ["a", "b", "c"] },
			},
		},
	};
	const body = times(8_000, (index) => ({
		id: "0193a5b0-0000-7000-8000-000000000000",
		name: "a name with a few words",
		amount: index,
		kind: "b",
	}));
	expect(kindsOf(schema, body)).toEqual([]);
});

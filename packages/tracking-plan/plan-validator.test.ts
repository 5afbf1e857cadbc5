import { expect, test } from "vitest";
import type { EventSchema, PlanDocument } from "../contracts/tracking-plan.ts";
import { compilePlan } from "./compile.ts";
import { PlanValidator } from "./plan-validator.ts";

function validatorOf(document: Partial<PlanDocument>): PlanValidator {
	const whole: PlanDocument = {
		version: 1,
		account: "shop",
		plan: "orders",
		eventType: { constant: "order" },
		events: [{ type: "order" }],
		onUnplannedEvent: "Annotate",
		onViolation: "Annotate",
		onUnplannedProperty: "Annotate",
		...document,
	};
	const compiled = compilePlan(whole);
	if ("fault" in compiled) throw new Error(compiled.fault);
	return new PlanValidator(whole, compiled.code);
}

function violationsOf(schema: EventSchema, body: unknown) {
	return validatorOf({ events: [{ type: "order", schema }] }).validate(
		body,
		undefined,
	).record.violations;
}

test("an event that is as planned records the plan, its version and the type", () => {
	const validator = validatorOf({
		events: [{ type: "order", schema: { properties: { id: {} } } }],
	});
	expect(validator.validate({ id: 1 }, undefined)).toEqual({
		outcome: "Accept",
		record: {
			plan: "orders",
			version: expect.stringMatching(/^[0-9a-f]{16}$/),
			type: "order",
		},
	});
});

test.each<[string, EventSchema, unknown, string, string, string]>([
	[
		"required",
		{ required: ["a/b"] },
		{},
		"RequiredMissing",
		"/a~1b",
		"is required",
	],
	[
		"type",
		{ type: ["string", "null"] },
		1,
		"TypeMismatch",
		"",
		"must be string or null",
	],
	[
		"enum",
		{ properties: { a: { enum: ["x", { y: 1 }] } } },
		{ a: 2 },
		"ValueMismatch",
		"/a",
		'must be "x" or {"y":1}',
	],
	["const", { const: null }, 0, "ValueMismatch", "", "must be null"],
	[
		"format",
		{ format: "date-time" },
		"today",
		"FormatMismatch",
		"",
		"must be of the format date-time",
	],
	[
		"pattern",
		{ pattern: "^a+$" },
		"b",
		"FormatMismatch",
		"",
		"must match the pattern ^a+$",
	],
	["minimum", { minimum: 3 }, 2, "OutOfRange", "", "must be >= 3"],
	[
		"maxLength",
		{ maxLength: 1 },
		"ab",
		"OutOfRange",
		"",
		"must have at most 1 character",
	],
	[
		"minProperties",
		{ minProperties: 2 },
		{},
		"OutOfRange",
		"",
		"must have at least 2 properties",
	],
	[
		"uniqueItems",
		{ uniqueItems: true },
		[
			{ a: 1, b: 2 },
			{ b: 2, a: 1 },
		],
		"SchemaMismatch",
		"",
		"must have no item twice",
	],
	[
		"additionalProperties",
		{ properties: { a: {} }, additionalProperties: false },
		{ b: 1 },
		"UnplannedProperty",
		"/b",
		"is not in the plan",
	],
	[
		"a property beside those that are named",
		{ properties: { a: { properties: { b: {} } } } },
		{ a: { c: 1 } },
		"UnplannedProperty",
		"/a/c",
		"is not in the plan",
	],
	[
		"anyOf by types",
		{ anyOf: [{ type: "string" }, { type: "null" }] },
		1,
		"TypeMismatch",
		"",
		"must be string or null",
	],
	[
		"anyOf of an object or null",
		{ anyOf: [{ type: "object", required: ["id"] }, { type: "null" }] },
		{},
		"RequiredMissing",
		"/id",
		"is required",
	],
])("%s is told as people know it", (_, schema, body, kind, path, message) => {
	expect(violationsOf(schema, body)).toEqual([{ kind, path, message }]);
});

test("a type that is not in the plan, and none, are unplanned events", () => {
	const validator = validatorOf({
		eventType: { bodyPointer: "/type" },
		onUnplannedEvent: "Reject",
	});
	expect(validator.validate({ type: "x" }, undefined)).toMatchObject({
		outcome: "Reject",
		record: {
			type: "x",
			violations: [{ kind: "UnplannedEvent", path: "/type" }],
		},
	});
	expect(validator.validate([], undefined).outcome).toBe("Reject");
});

test.each([
	["1.10", "1.10"],
	["1.1", "1.1"],
	["2.0", "2.0"],
	["1e2", "1e2"],
	["-0", "-0"],
	["12345678901234567.89", "12345678901234567.89"],
	['"1.10"', "1.10"],
	["true", "true"],
])("the event type %s is what was written", (written, type) => {
	const validator = validatorOf({
		eventType: { bodyPointer: "/a~1b/1" },
		events: [{ type, schema: {} }],
	});
	const body = `{"a/b":["1.10 \\" 2.0",${written}],"type":9.90}`;
	const { record } = validator.validateText(Buffer.from(body), undefined);
	expect(record).toMatchObject({ type });
	expect(record).not.toHaveProperty("violations");
});

test("the strictest policy of an event's violations decides", () => {
	const validator = validatorOf({
		events: [
			{ type: "order", schema: { properties: { id: { type: "string" } } } },
		],
		onViolation: "Reject",
		onUnplannedProperty: "Quarantine",
	});
	const outcome = (body: unknown) =>
		validator.validate(body, undefined).outcome;
	expect(outcome({ id: "1" })).toBe("Accept");
	expect(outcome({ id: "1", more: 1 })).toBe("Quarantine");
	expect(outcome({ id: 1, more: 1 })).toBe("Reject");
});

test("unplanned properties are named, to be left out", () => {
	const validator = validatorOf({
		events: [{ type: "order", schema: { properties: { id: {} } } }],
		onUnplannedProperty: "Omit",
	});
	expect(validator.validate({ id: 1, "a/b": 2 }, undefined)).toMatchObject({
		outcome: "Accept",
		record: { omit: ["/a~1b"] },
	});
});

test.each([
	["empty arrays", `[${"[],".repeat(300_000)}0]`],
	["numbers", `[${"1,".repeat(300_000)}1]`],
	["objects in each other", '{"":'.repeat(300_000) + 1 + "}".repeat(300_000)],
])("an event of 300,000 %s is too complex, and isn't parsed", (_, text) => {
	const policies = {
		onViolation: "Annotate",
		onUnplannedEvent: "Reject",
	} as const;
	const validated = validatorOf(policies).validateText(
		Buffer.from(text),
		undefined,
	);
	expect(validated.outcome).toBe("Reject");
	expect(validated.record).toMatchObject({
		type: "order",
		violations: [
			{
				kind: "TooComplex",
				path: "",
				message: "has too many values to validate",
			},
		],
	});
});

test("a text of many bytes and few values is validated, whatever its strings hold", () => {
	const schema = { minLength: 1_000_000, maxLength: 1_000_000 };
	const validator = validatorOf({ events: [{ type: "order", schema }] });
	for (const text of ["[,{", '"[,{', '\\\\"[,', "é,[{"]) {
		const body = text.repeat(1_000_000).slice(0, 1_000_000);
		const json = Buffer.from(JSON.stringify(body));
		expect(
			validator.validateText(json, undefined).record.violations,
		).toBeUndefined();
	}
});

// In make test: packages/tracking-plan/plan-validator.test.ts
import { BigNumber } from "bignumber.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PlanDocument } from "../contracts/tracking-plan.ts";
import { parseExact, rawNumberOf } from "../json/json-reader.ts";
import { compilePlan } from "./compile.ts";
import { PlanValidator } from "./plan-validator.ts";
import { planVersion } from "./version.ts";

/* Numbers count as they are written: in the text of a schema, and in that of a body. */

/** Of event types named by their places. */
function validatorOf(schemas: string[], eventType = '{"constant":"0"}') {
	const events = schemas.map(
		(schema, index) => `{"type":"${index}","schema":${schema}}`,
	);
	const document = parseExact(
		`{"version":1,"account":"shop","plan":"p","eventType":${eventType},"events":[${events}],
			"onUnplannedEvent":"Annotate","onViolation":"Reject","onUnplannedProperty":"Allow"}`,
	) as PlanDocument;
	const compiled = compilePlan(document);
	if ("fault" in compiled) throw new Error(compiled.fault);
	return new PlanValidator(document, compiled.code);
}

function kindsOf(schema: string, body: string): string[] {
	const { record } = validatorOf([schema]).validateText(
		Buffer.from(body),
		undefined,
	);
	return (record.violations ?? []).map(({ kind, path }) => `${kind} ${path}`);
}

test.each([
	['{"multipleOf":0.01}', "19.99"],
	['{"multipleOf":0.01}', "1e2"],
	['{"multipleOf":0.1}', "0.3"],
	['{"multipleOf":1e-9}', "0.000000001"],
	['{"multipleOf":0.001}', "123456789012345678.125"],
	['{"multipleOf":3}', "9007199254740993"],
	['{"multipleOf":1e-300}', "1"],
	['{"const":9007199254740993}', "9007199254740993"],
	['{"const":9007199254740993}', "9007199254740993.0"],
	['{"const":9007199254740993}', "900719925474099.3e1"],
	['{"const":1}', "1.0"],
	['{"const":0}', "-0.0"],
	[
		'{"enum":[[9007199254740993,{"a":1e400}]]}',
		'[9007199254740993.0,{"a":1e400}]',
	],
	['{"maximum":9007199254740993}', "9007199254740993"],
	['{"minimum":9007199254740993}', "9007199254740993"],
	['{"exclusiveMaximum":9007199254740993}', "9007199254740992"],
	['{"type":"integer"}', "9007199254740993"],
	['{"type":"integer"}', "1.00"],
	[
		'{"type":"integer"}',
		"12345678901234567890123e-3".replace("3e-3", "000e-3"),
	],
	['{"type":"number"}', "1.00000000000000000001"],
	['{"uniqueItems":true}', "[9007199254740992,9007199254740993]"],
	['{"maxLength":1}', '"a"'],
	// What stands in the place of other numbers is a number of its own.
	['{"const":1.0715086071862673e301}', "1.0715086071862673e301"],
	['{"uniqueItems":true}', "[9007199254740993,1.0715086071862673e301]"],
])("%s takes %s", (schema, body) => {
	expect(kindsOf(schema, body)).toEqual([]);
});

test.each([
	['{"multipleOf":0.01}', "19.999", "SchemaMismatch "],
	['{"multipleOf":0.01}', "19.990000000000000000001", "SchemaMismatch "],
	['{"multipleOf":2}', "9007199254740993", "SchemaMismatch "],
	['{"const":9007199254740993}', "9007199254740992", "ValueMismatch "],
	['{"const":9007199254740992}', "9007199254740993", "ValueMismatch "],
	['{"enum":[9007199254740993]}', "9007199254740994", "ValueMismatch "],
	['{"enum":["9007199254740993e0"]}', "9007199254740993", "ValueMismatch "],
	['{"enum":[[9007199254740993]]}', "[9007199254740992]", "ValueMismatch "],
	['{"maximum":9007199254740992}', "9007199254740993", "OutOfRange "],
	['{"minimum":9007199254740994}', "9007199254740993", "OutOfRange "],
	['{"minimum":9007199254740993}', "9007199254740992", "OutOfRange "],
	['{"exclusiveMinimum":9007199254740993}', "9007199254740993", "OutOfRange "],
	['{"maximum":0.3}', "0.30000000000000000001", "OutOfRange "],
	['{"maximum":-1}', "-0.99999999999999999999", "OutOfRange "],
	['{"type":"integer"}', "1.00000000000000000001", "TypeMismatch "],
	['{"type":"integer"}', "1e-400", "TypeMismatch "],
	[
		'{"uniqueItems":true}',
		"[9007199254740993,9007199254740993.0]",
		"SchemaMismatch ",
	],
	['{"uniqueItems":true}', '[{"a":0.1},{"a":0.10}]', "SchemaMismatch "],
	["{}", "1e401", "NumberTooLarge "],
	["{}", '{"a/b":[0,-1e-401]}', "NumberTooLarge /a~1b/1"],
	["{}", `{"a":${"9".repeat(401)}}`, "NumberTooLarge /a"],
	['{"maximum":5}', "1e99999999999", "NumberTooLarge "],
	// Equal to a short number, and yet too long to be taken for one.
	["{}", `1.${"0".repeat(400)}`, "NumberTooLarge "],
	["{}", "0e401", "NumberTooLarge "],
	["{}", `1${"0".repeat(1_000_000)}1`, "NumberTooLarge "],
	[
		'{"$schema":"http://json-schema.org/draft-07/schema#","maximum":9007199254740992}',
		"9007199254740993",
		"OutOfRange ",
	],
	[
		'{"$schema":"http://json-schema.org/draft-07/schema#","enum":[9007199254740993]}',
		"9007199254740992",
		"ValueMismatch ",
	],
])("%s refuses %s", (schema, body, violation) => {
	expect(kindsOf(schema, body)).toContain(violation);
});

test("a number of 400 digits, or with an exponent of 400, is none too large", () => {
	for (const body of [
		"9".repeat(400),
		"1e400",
		"-1E-400",
		`0.${"1".repeat(399)}`,
	])
		expect(kindsOf('{"type":"number"}', body)).toEqual([]);
});

test.each([
	'{"exclusiveMaximum":1e401}',
	'{"properties":{"a":{"enum":[[1e-401]]}}}',
])("a plan with a number that is too large is refused: %s", (schema) => {
	expect(() => validatorOf([schema])).toThrow("at most 400 digits");
});

test("long numbers, and those far apart, burn fuel", () => {
	for (const [schema, number] of [
		['{"items":{"multipleOf":1e-400}}', "1e400"],
		['{"items":{"maximum":1e400}}', "1e-400"],
	] as const)
		expect(
			kindsOf(schema, `[${Array(100_000).fill(number).join()}]`),
		).toContain("TooComplex ");
});

test("messages and types have numbers as they are written", () => {
	const schema =
		'{"maximum":9007199254740993,"multipleOf":0.01,"enum":[9007199254740993]}';
	const { record } = validatorOf([schema], '{"bodyPointer":""}').validateText(
		Buffer.from("12345678901234567.891"),
		undefined,
	);
	expect(record.type).toBe("12345678901234567.891");
	const { record: of } = validatorOf([schema]).validateText(
		Buffer.from("12345678901234567.891"),
		undefined,
	);
	expect(of.violations?.map(({ message }) => message).sort()).toEqual([
		"must be 9007199254740993",
		"must be <= 9007199254740993",
		"must be a multiple of 0.01",
	]);
});

test("plans whose numbers differ beyond what JavaScript holds are two versions", () => {
	const version = (maximum: string) =>
		planVersion({
			eventType: { constant: "x" },
			events: [{ type: "x", schema: parseExact(`{"maximum":${maximum}}`) }],
		} as PlanDocument);
	expect(version("9007199254740993")).not.toBe(version("9007199254740992"));
	expect(version("9007199254740993")).toBe(version("9007199254740993"));
});

test("a text comes back as it was, number by number", () => {
	const text =
		'{"a":[1,9007199254740993,1.5,1e400,-0.1],"b":"9007199254740993"}';
	expect(JSON.stringify(parseExact(text))).toBe(text);
	const { a } = parseExact(text) as { a: unknown[] };
	expect(a.map(rawNumberOf)).toEqual([
		undefined,
		"9007199254740993",
		undefined,
		"1e400",
		undefined,
	]);
});

/** Decimals near each other, near what JavaScript holds, and anywhere. */
const decimal = fc.oneof(
	fc
		.tuple(
			fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }),
			fc.integer({ min: -30, max: 30 }),
		)
		.map(([digits, exponent]) => `${digits}e${exponent}`),
	fc
		.tuple(
			fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }),
			fc.integer({ min: 0, max: 12 }),
		)
		.map(([digits, places]) => new BigNumber(`${digits}e-${places}`).toFixed()),
	fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
	fc
		.integer({ min: -20, max: 20 })
		.map((n) => `${9007199254740992n + BigInt(n)}`),
);

test("every keyword for numbers agrees with another implementation's exact arithmetic", () => {
	fc.assert(
		fc.property(decimal, decimal, (value, limit) => {
			const [a, b] = [new BigNumber(value), new BigNumber(limit)];
			const same = a.eq(b);
			const expected: [schema: string, body: string, isValid: boolean][] = [
				[`{"maximum":${limit}}`, value, a.lte(b)],
				[`{"exclusiveMaximum":${limit}}`, value, a.lt(b)],
				[`{"minimum":${limit}}`, value, a.gte(b)],
				[`{"exclusiveMinimum":${limit}}`, value, a.gt(b)],
				[`{"const":${limit}}`, value, same],
				[`{"enum":[null,[${limit}],${limit}]}`, value, same],
				[`{"enum":[[${limit}]]}`, `[${value}]`, same],
				['{"type":"integer"}', value, a.isInteger()],
				['{"uniqueItems":true}', `[${value},"x",${limit}]`, !same],
				['{"uniqueItems":true}', `[[${value}],[${limit}]]`, !same],
			];
			if (b.gt(0))
				expected.push([`{"multipleOf":${limit}}`, value, a.mod(b).isZero()]);
			const validator = validatorOf(
				expected.map(([schema]) => schema),
				'{"header":"x"}',
			);
			for (const [index, [schema, body, isValid]] of expected.entries()) {
				const { outcome } = validator.validateText(
					Buffer.from(body),
					String(index),
				);
				expect(outcome === "Accept", `${schema} of ${body}`).toBe(isValid);
			}
		}),
		{ numRuns: 100 },
	);
});

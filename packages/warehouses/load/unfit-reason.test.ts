import { expect, test } from "vitest";
import { unfitValueOf } from "../../../ingest/load/rejected-values.ts";
import type { BodyValueType } from "../../contracts/job.ts";

const of = (body: string, column: BodyValueType) =>
	unfitValueOf(body, { bodyPointer: "/a", ...column });

test.each<[string, BodyValueType, string, RegExp]>([
	['{"a": "much"}', { type: "Integer" }, '"much"', /^Not a whole number/],
	['{"a":{"b": 1}}', { type: "String" }, '{"b": 1}', /^Not a text/],
	['{"a":1e999}', { type: "Number" }, "1e999", /^Not a number/],
	[
		'{"a":1.005}',
		{ type: "Decimal", precision: 5, scale: 2 },
		"1.005",
		/at most 5 digits, of which 2 stand after the point/,
	],
	['{"a":"yes"}', { type: "Boolean" }, '"yes"', /^Not true or false/],
	['{"a":"1 May"}', { type: "Timestamp" }, '"1 May"', /as RFC 3339 writes/],
	[
		'{"a":"x"}',
		{ type: "Timestamp", format: "UnixMillis" },
		'"x"',
		/as UnixMillis writes/,
	],
	['{"a":"2026-02-30"}', { type: "Date" }, '"2026-02-30"', /^Not a date/],
	[
		'{"a":"1850-01-01"}',
		{ type: "Date", limits: { years: [1900, 2299] } },
		'"1850-01-01"',
		/holds the years 1900 to 2299/,
	],
	[
		'{"a":[1]}',
		{ type: "JSON", limits: { objectDepth: 100 } },
		"[1]",
		/is an object .* at most 100 levels/,
	],
	[
		'{"a":{"b":{"c":1},"b.c":2}}',
		{ type: "JSON", limits: { objectDepth: 100 } },
		'{"b":{"c":1},"b.c":2}',
		/no two values have the same path/,
	],
	['{"a":{"b":1,"b":2}}', { type: "JSON" }, '{"b":1,"b":2}', /differently/],
	[
		String.raw`{"a":"x\ud800"}`,
		{ type: "String" },
		String.raw`"x\ud800"`,
		/half of a surrogate pair/,
	],
	['{"a":1,"a":2}', { type: "Integer" }, "2", /^Several members/],
	["{", { type: "Integer" }, "{", /not JSON/],
])("of %s as %j, the text is %s", (body, column, text, reason) => {
	const found = of(body, column);
	expect(found.text).toBe(text);
	expect(found.reason).toMatch(reason);
	expect(found.reason).toMatch(/\.$/);
});

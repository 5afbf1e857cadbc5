import {
	DuckDBBlobValue,
	DuckDBListValue,
	DuckDBStructValue,
} from "@duckdb/node-api";
import type { SchemaElement } from "hyparquet";
import { expect, test } from "vitest";
import { type InexactValue, leafType } from "./leaf-type.ts";
import { jsonOf, typeOf } from "./parquet-type.ts";
import type { StoredNode } from "./stored-file.ts";

const bytes = (hex: string) => new DuckDBBlobValue(Buffer.from(hex, "hex"));
const text = (text: string) => new DuckDBBlobValue(Buffer.from(text));

function jsonBy(element: object, value: unknown, timeZone?: string): string {
	const type = leafType({ name: "x", ...element } as SchemaElement, timeZone);
	if (!type.json) return `no ${type.name}`;
	try {
		return type.json(value);
	} catch (error) {
		return (error as InexactValue).fault;
	}
}

const int32 = { type: "INT32" };
const int64 = { type: "INT64" };
const fixed = { type: "FIXED_LEN_BYTE_ARRAY" };
const any = { type: "BYTE_ARRAY" };
const logical = (type: string, more = {}) => ({
	logical_type: { type, ...more },
});
const local = (unit: string) =>
	logical("TIMESTAMP", { isAdjustedToUTC: false, unit });
const instant = (unit: string) =>
	logical("TIMESTAMP", { isAdjustedToUTC: true, unit });
const of = (converted_type: string, more = {}) => ({ converted_type, ...more });
const year10000 = 253_402_300_800_000n;

test.each<[string, object, unknown, string]>([
	["a truth", { type: "BOOLEAN" }, true, "true"],
	["an integer", int64, -(2n ** 63n), "-9223372036854775808"],
	["without a sign", { ...int32, ...of("UINT_32") }, -1, "4294967295"],
	[
		"of 64 bits without a sign",
		{ ...int64, ...logical("INTEGER", { bitWidth: 64, isSigned: false }) },
		-1n,
		"18446744073709551615",
	],
	["a small integer", { ...int32, ...of("INT_8") }, -128, "-128"],
	["a float", { type: "FLOAT" }, Math.fround(0.1), "0.10000000149011612"],
	["a whole double", { type: "DOUBLE" }, 5, "5.0"],
	["minus zero", { type: "DOUBLE" }, -0, "-0.0"],
	["a large double", { type: "DOUBLE" }, 1e300, "1e+300"],
	[
		"NaN",
		{ type: "DOUBLE" },
		Number.NaN,
		"is NaN, which JSON has no number for",
	],
	[
		"an infinity",
		{ type: "FLOAT" },
		-Infinity,
		"is -Infinity, which JSON has no number for",
	],
	["half a float", { ...fixed, ...logical("FLOAT16") }, bytes("003e"), "1.5"],
	[
		"its least",
		{ ...fixed, ...logical("FLOAT16") },
		bytes("0100"),
		"5.960464477539063e-8",
	],
	[
		"its infinity",
		{ ...fixed, ...logical("FLOAT16") },
		bytes("007c"),
		"is Infinity, which JSON has no number for",
	],
	["money", { ...int32, ...of("DECIMAL", { scale: 2 }) }, 110, "1.10"],
	["a small debt", { ...int64, ...of("DECIMAL", { scale: 2 }) }, -5n, "-0.05"],
	[
		"a decimal by the newer annotation alone",
		{ ...int32, ...logical("DECIMAL", { scale: 1, precision: 9 }) },
		7,
		"0.7",
	],
	[
		"a long decimal",
		{ ...fixed, ...of("DECIMAL") },
		bytes(`${"00".repeat(31)}07`),
		"7",
	],
	[
		"a decimal of any length",
		{ ...any, ...of("DECIMAL", { scale: 1 }) },
		bytes("ff"),
		"-0.1",
	],
	[
		"a decimal of a scale below zero",
		{ ...int64, ...of("DECIMAL", { scale: -2 }) },
		-7n,
		"-700",
	],
	[
		"a decimal of a scale that no memory has room for",
		{ ...int64, ...of("DECIMAL", { scale: 2 ** 31 - 1 }) },
		1n,
		"no DECIMAL with the scale 2147483647",
	],
	[
		"a decimal of one as far below zero",
		{ ...int64, ...logical("DECIMAL", { scale: -(2 ** 31), precision: 9 }) },
		1n,
		"no DECIMAL with the scale -2147483648",
	],
	["an empty decimal", { ...any, ...of("DECIMAL") }, bytes(""), "0"],
	["text", { ...any, ...of("UTF8") }, text('Kä"\n'), '"Kä\\"\\n"'],
	["a mark before text", any, text("\uFEFFx"), '"\uFEFFx"'],
	["bytes", any, bytes("ff"), "has bytes that are not UTF-8"],
	["half a character", fixed, bytes("c3"), "has bytes that are not UTF-8"],
	["bytes that are text", fixed, text("ab"), '"ab"'],
	["a kind", { ...any, ...of("ENUM") }, text("a"), '"a"'],
	["JSON", { ...any, ...of("JSON") }, text('{"a": 1.0}'), '{"a": 1.0}'],
	[
		"JSON that is none",
		{ ...any, ...of("JSON") },
		text("{"),
		"is not JSON, as its type says",
	],
	[
		"a UUID",
		{ ...fixed, ...logical("UUID") },
		bytes(`${"00".repeat(15)}07`),
		'"00000000-0000-0000-0000-000000000007"',
	],
	["a date", { ...int32, ...of("DATE") }, -719_162, '"0001-01-01"'],
	[
		"a date too late",
		{ ...int32, ...of("DATE") },
		2 ** 31 - 1,
		"is no date that RFC 3339 can say",
	],
	[
		"a time of day",
		{ ...int32, ...of("TIME_MILLIS") },
		36_000_500,
		'"10:00:00.5Z"',
	],
	[
		"a local time of day",
		{ ...int64, ...logical("TIME", { isAdjustedToUTC: false, unit: "NANOS" }) },
		1n,
		'"00:00:00.000000001"',
	],
	[
		"a time of no day",
		{ ...int32, ...of("TIME_MILLIS") },
		86_400_000,
		"is no time of a day that RFC 3339 can say",
	],
	[
		"an instant",
		{ ...int64, ...of("TIMESTAMP_MICROS") },
		-1n,
		'"1969-12-31T23:59:59.999999Z"',
	],
	[
		"an instant's nanoseconds",
		{ ...int64, ...instant("NANOS") },
		1n,
		'"1970-01-01T00:00:00.000000001Z"',
	],
	[
		"a time without a zone",
		{ ...int64, ...local("MILLIS") },
		1_500n,
		'"1970-01-01T00:00:01.5"',
	],
	[
		"a time too late",
		{ ...int64, ...instant("MILLIS") },
		year10000,
		"is a time of a year that RFC 3339 can't say",
	],
	[
		"an INT96",
		{ type: "INT96" },
		bytes("01000000000000008c3d2500"),
		'"1970-01-01T00:00:00.000000001"',
	],
	[
		"a span",
		{ ...fixed, ...of("INTERVAL") },
		bytes("0100000002000000f4010000"),
		'"P1M2DT0.5S"',
	],
	["a column of nothing", { ...int32, ...logical("NULL") }, 1, "null"],
	["BSON", { ...any, ...of("BSON") }, text(""), "no BSON"],
	["a shape", { ...any, ...logical("GEOMETRY") }, text(""), "no GEOMETRY"],
	["a place", { ...any, ...logical("GEOGRAPHY") }, text(""), "no GEOGRAPHY"],
	[
		"what comes after this version",
		{ ...any, logical_type: {} },
		text(""),
		"no unknown to this version",
	],
	["text in numbers", { ...int32, ...of("UTF8") }, 1, "no STRING"],
])("%s is exact, or said not to be", (_, element, value, expected) => {
	expect(jsonBy(element, value)).toBe(expected);
});

test.each<[string, bigint, string]>([
	[
		"2026-01-01T10:00:00.5",
		1_767_261_600_500n,
		'"2026-01-01T10:00:00.5+01:00"',
	],
	["in summer", 1_782_900_000_000n, '"2026-07-01T10:00:00+02:00"'],
	[
		"skipped",
		1_774_751_400_000n,
		"is 2026-03-29T02:30:00, which Europe/Berlin has not at all",
	],
	[
		"shown twice",
		1_792_895_400_000n,
		"is 2026-10-25T02:30:00, which Europe/Berlin has twice",
	],
	["before zones", -2_493_072_000_000n, '"1890-12-30T23:06:32Z"'],
])("with a time zone, a clock's time %s has its offset", (_, ms, expected) => {
	const at = (element: object) => jsonBy(element, ms, "Europe/Berlin");
	expect(at({ ...int64, ...local("MILLIS") })).toBe(expected);
	expect(at({ ...int64, ...instant("MILLIS") })).toMatch(/Z"$/);
});

let stored = 0;
function node(element: object, ...children: StoredNode[]): StoredNode {
	const whole = { repetition_type: "OPTIONAL", ...element } as SchemaElement;
	return { stored: `f${++stored}`, element: whole, children };
}
const repeated = { repetition_type: "REPEATED" };
const struct = (node: StoredNode, ...values: unknown[]) =>
	new DuckDBStructValue(
		Object.fromEntries(
			node.children.map(
				(child, index) => [child.stored, values[index]] as const,
			),
		) as never,
	);
const list = (...items: unknown[]) => new DuckDBListValue(items as never);
const listType = { name: "tags", ...of("LIST") };

function jsonIn(node: StoredNode, value: unknown): string {
	const type = typeOf(node, undefined);
	return type.json ? jsonOf(type, value) : `no ${type.name}`;
}

test("a list means the same whichever writer's rules it follows", () => {
	const leaf = (name: string, more = {}) => node({ name, ...int32, ...more });
	const withoutGroup = node(listType, leaf("element", repeated));
	expect(jsonIn(withoutGroup, struct(withoutGroup, list(1, 2)))).toBe("[1,2]");
	const bare = leaf("tags", repeated);
	expect(jsonIn(bare, list(1))).toBe("[1]");
	const today = node(
		listType,
		node({ name: "list", ...repeated }, leaf("element")),
	);
	expect(jsonIn(today, struct(today, list(1, null)))).toBe("[1,null]");
	expect(jsonIn(today, null)).toBe("null");
	for (const name of ["array", "tags_tuple"]) {
		const ofGroups = node(listType, node({ name, ...repeated }, leaf("a")));
		const value = struct(ofGroups, list(1, null));
		expect(jsonIn(ofGroups, value)).toBe('[{"a":1},{"a":null}]');
	}
	const pair = node({ name: "x", ...repeated }, leaf("a"), leaf("b"));
	const ofPairs = node(listType, pair);
	expect(jsonIn(ofPairs, struct(ofPairs, list(struct(pair, 1, 2))))).toBe(
		'[{"a":1,"b":2}]',
	);
	const inner = node(
		{ name: "l", ...of("LIST"), ...repeated },
		leaf("element", repeated),
	);
	const lists = node(listType, inner);
	expect(jsonIn(lists, struct(lists, list(list(1), list())))).toBe("[[1],[]]");
	const group = node({ name: "g", ...repeated }, leaf("only"));
	expect(jsonIn(group, list(1, null))).toBe('[{"only":1},{"only":null}]');
});

test("a map is an object whose names are its keys", () => {
	const map = (key: object) =>
		node(
			{ name: "m", ...of("MAP") },
			node(
				{ name: "x", ...repeated },
				node({ name: "key", ...key }),
				node({ name: "value", ...int32 }),
			),
		);
	const entries = (map: StoredNode, ...pairs: unknown[][]) =>
		struct(
			map,
			list(...pairs.map((pair) => struct(map.children[0]!, ...pair))),
		);
	const byText = map({ ...any, ...of("UTF8") });
	expect(
		jsonIn(byText, entries(byText, [text('"'), 1], [text("b"), null])),
	).toBe('{"\\"":1,"b":null}');
	const byNumber = map(int64);
	expect(jsonIn(byNumber, entries(byNumber, [7n, 1]))).toBe('{"7":1}');
});

test("what a group has of no exact type makes it one of none", () => {
	const bson = node({ name: "b", ...any, ...of("BSON") });
	const inList = node(listType, node({ name: "list", ...repeated }, bson));
	expect(jsonIn(node({ name: "g" }, inList), null)).toBe("no BSON");
	const variant = node(
		{ name: "v", ...logical("VARIANT") },
		node({ name: "metadata", ...any }),
	);
	expect(jsonIn(node({ name: "g" }, variant), null)).toBe("no VARIANT");
	const twice = node(
		{ name: "g" },
		node({ name: "a", ...int32 }),
		node({ name: "a", ...int32 }),
	);
	expect(jsonIn(twice, null)).toBe('no group with two members "a"');
});

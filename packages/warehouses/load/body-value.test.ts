import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { unfitValues } from "../../../ingest/load/result.ts";
import type { BodyValueType, TableColumn } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { columnValue } from "./body-value.ts";
import { type BodyColumn, defineBodyValues } from "./body-values.ts";
import { bodyValueSql, eventRows } from "./columns.ts";
import { addUnfit } from "./load-day.ts";
import { countUnfit } from "./value-counts.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "body-"));
	session = await Session.inMemory({}, new AbortController().signal);
	defineBodyValues(session);
	await session.run("SET TimeZone = 'Asia/Tokyo'");
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

let files = 0;

async function fileOf(...bodies: string[]): Promise<string> {
	return fileOfKind("json", bodies);
}

async function fileOfKind(kind: string, bodies: string[]): Promise<string> {
	const file = join(directory, `${files++}.parquet`);
	const rows = bodies
		.map((body, n) => `(${quoteText(body)}, 'e${n}', '${kind}')`)
		.join(", ");
	await session.run(
		`COPY (SELECT * FROM (VALUES ${rows}) AS t(body, event_id, kind)) TO ${quoteText(file)} (FORMAT parquet)`,
	);
	return file;
}

/** A type's name, or `Decimal(precision,scale)`. */
function typeOf(type: string): BodyValueType {
	const [, precision, scale] = /^Decimal\((\d+),(\d+)\)$/.exec(type) ?? [];
	return precision === undefined
		? ({ type } as BodyValueType)
		: { type: "Decimal", precision: +precision, scale: Number(scale) };
}

function column(type: string, bodyPointer = "/a", name = "c"): TableColumn {
	return { name, from: { bodyPointer, ...typeOf(type) } };
}

/** The value that a column has for a body, as text; with "unfit" before it if it counts as such. */
async function columnOf(
	body: string,
	type: string,
	pointer = "/a",
	kind = "json",
) {
	const file = await fileOfKind(kind, [body]);
	const from = column(type, pointer).from as BodyColumn;
	const { type: sqlType, value, isUnfit } = bodyValueSql(from, 0);
	const [found] = await session.rows<Record<string, string | boolean | null>>(
		`SELECT typeof(${value}) AS type, (${value})::VARCHAR AS value, ${isUnfit} AS is_unfit` +
			` FROM ${eventRows([{ file }], [column(type, pointer), column("JSON", "/other")])}`,
	);
	expect(found!.type).toBe(sqlType);
	if (!found!.is_unfit) return found!.value;
	return found!.value === null ? "unfit" : `unfit ${found!.value}`;
}

test.each<[string, string, string]>([
	["String", '"ü \\"1\\""', 'ü "1"'],
	["String", '""', ""],
	["String", "12345678901234567890123", "12345678901234567890123"],
	["String", "true", "true"],
	["String", "1.10", "1.10"],
	["String", "12345678901234567.89", "12345678901234567.89"],
	["String", "1E+400", "1E+400"],
	["String", "-0", "-0"],
	["String", '"cut \\ud83c"', "unfit cut \ufffd"],
	["String", '"\\udc00\\ud800"', "unfit \ufffd\ufffd"],
	["String", '"\\ud83d\\ude00"', "\u{1f600}"],
	["String", '"a\\u0000b"', "a\0b"],
	["String", '"\\\\"', "\\"],
	["String", "[]", "unfit"],
	["String", '"{"', "{"],
	["String", '"[1"', "[1"],
	["String", '{"x":1}', "unfit"],
	["Integer", "-7", "-7"],
	["Integer", "9223372036854775807", "9223372036854775807"],
	["Integer", "9223372036854775808", "unfit"],
	["Integer", "1.0", "1"],
	["Integer", "1e3", "1000"],
	["Integer", "1.5", "unfit"],
	["Integer", "1e300", "unfit"],
	["Integer", "9007199254740993.0", "9007199254740993"],
	["Integer", "-9223372036854775808", "-9223372036854775808"],
	["Integer", "1.00000000000000000001", "unfit"],
	["Integer", "120e-1", "12"],
	["Integer", "0e999999999999999999999", "0"],
	["Integer", "-0.0", "0"],
	["Integer", '"12"', "12"],
	["Integer", '" 12"', "unfit"],
	["Integer", '"1_2"', "unfit"],
	["Integer", '"0x1f"', "unfit"],
	["Integer", '"012"', "unfit"],
	["Integer", '""', "unfit"],
	["Integer", "true", "unfit"],
	["Integer", "[1]", "unfit"],
	["Number", "1.50", "1.5"],
	["Number", "-2", "-2.0"],
	["Number", '"1e-3"', "0.001"],
	["Number", "1e400", "unfit"],
	["Number", "1e-400", "0.0"],
	["Number", "-0", "-0.0"],
	["Decimal(38,9)", "19.99", "19.990000000"],
	["Decimal(4,2)", "19.990", "19.99"],
	["Decimal(4,2)", "1.005", "unfit"],
	["Decimal(4,2)", "100", "unfit"],
	["Decimal(4,2)", "-0.99e2", "-99.00"],
	["Decimal(4,2)", "0.000000000000000000000000000000000000000000", "0.00"],
	["Decimal(4,2)", "1e400", "unfit"],
	["Decimal(4,2)", "1e-400", "unfit"],
	["Decimal(4,2)", '"12.5"', "12.50"],
	["Decimal(4,2)", '"12,5"', "unfit"],
	["Decimal(4,2)", "true", "unfit"],
	["Decimal(2,2)", "0.05", ".05"],
	["Decimal(2,2)", "1", "unfit"],
	["Decimal(1,0)", "1e0", "1"],
	[
		"Decimal(38,0)",
		"12345678901234567890123456789012345678",
		"12345678901234567890123456789012345678",
	],
	["Decimal(38,38)", "-1e-38", "-.00000000000000000000000000000000000001"],
	["Number", '"NaN"', "unfit"],
	["Number", '"inf"', "unfit"],
	["Boolean", "false", "false"],
	["Boolean", '"true"', "true"],
	["Boolean", "1", "unfit"],
	["Boolean", '"yes"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:00Z"', "2026-03-01 21:00:00+09"],
	["Timestamp", '"2026-03-01t12:00:00.25-05:30"', "2026-03-02 02:30:00.25+09"],
	["Timestamp", '"2026-03-01T12:00:00"', "unfit"],
	["Timestamp", '"2026-02-30T12:00:00Z"', "unfit"],
	["Timestamp", '"0001-01-01T00:00:00+01:00"', "unfit"],
	["Timestamp", '"9999-12-31T23:59:59-01:00"', "unfit"],
	["Timestamp", "1772366400", "unfit"],
	["Timestamp", '"2026-03-01T12:00:00+0000"', "2026-03-01 21:00:00+09"],
	["Timestamp", '"2026-03-01 12:00:00-01"', "2026-03-01 22:00:00+09"],
	["Timestamp", '"2026-03-01T12:00Z"', "2026-03-01 21:00:00+09"],
	["Timestamp", '"2026-12-31T23:59:60Z"', "2027-01-01 09:00:00+09"],
	["Timestamp", '"2016-12-31T18:59:60.5-05:00"', "2017-01-01 09:00:00.5+09"],
	["Timestamp", '"2026-02-28T24:00:00Z"', "2026-03-01 09:00:00+09"],
	["Timestamp", '"2024-02-28T24:00Z"', "2024-02-29 09:00:00+09"],
	["Timestamp", '"2026-03-01T24:00:01Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:60:00Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:61Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:00+24:00"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:00+23:59"', "2026-02-28 21:01:00+09"],
	[
		"Timestamp",
		'"2026-03-01T23:59:59.9999999Z"',
		"2026-03-02 08:59:59.999999+09",
	],
	["Timestamp", '"0000-12-31T23:00:00-01:00"', "unfit"],
	["Timestamp", '"9999-12-31T23:59:60Z"', "unfit"],
	["Date", '"2026-03-01"', "2026-03-01"],
	["Date", '"2026-02-30"', "unfit"],
	["Date", '"0000-01-01"', "unfit"],
	["Date", '"0001-01-01"', "0001-01-01"],
	["Date", '"9999-12-31"', "9999-12-31"],
	["Date", '"1900-02-29"', "unfit"],
	["Date", '"2000-02-29"', "2000-02-29"],
	["Date", '"2026-03-01T12:00:00Z"', "unfit"],
	["JSON", '{"b" : [1, "x"]}', '{"b":[1,"x"]}'],
	["JSON", '"x"', '"x"'],
	[
		"JSON",
		'{ "p": [ 1.10 , 12345678901234567.89, 1e400,-0 ] }',
		'{"p":[1.10,12345678901234567.89,1e400,-0]}',
	],
	[
		"JSON",
		'{"b":1,"c":2,"\\u0062":{"x":3,"x":4}}',
		'unfit {"\\u0062":{"x":4},"c":2}',
	],
	["JSON", '["\\ud800 , ", {"\\udc00":1}]', 'unfit ["\ufffd , ",{"\ufffd":1}]'],
	["JSON", '"a\\u0000 b"', '"a\\u0000 b"'],
	["JSON", '[{},[ ],""]', '[{},[],""]'],
])("as %s, %s is %s", async (type, json, expected) => {
	expect(await columnOf(`{"a":${json}}`, type)).toBe(expected);
});

const types = [
	"String",
	"Integer",
	"Number",
	"Decimal(38,9)",
	"Boolean",
	"Timestamp",
	"Date",
	"JSON",
];

test.each(types)("nothing and null are NULL as %s, and fit", async (type) => {
	for (const body of ['{"b":1}', '{"a":null}', "[]", "null", '"a"', "1.5"])
		expect(await columnOf(body, type), body).toBeNull();
});

test.each(
	types.flatMap((type) => [
		[type, '{"a":""}', "/a"] as const,
		[type, '{"a":["","x"]}', "/a/0"] as const,
		[type, '{"b":"","a":"","c":"1"}', "/a"] as const,
	]),
)(
	"as %s, the empty field of the form %s is missing, or an empty text",
	async (type, body, pointer) => {
		const expected = type === "String" ? "" : null;
		expect(await columnOf(body, type, pointer, "form")).toBe(expected);
	},
);

test.each([
	["a field of spaces", "Integer", '{"a":" "}'],
	["a field of an invisible character", "Date", '{"a":"\u200b"}'],
	["a list of a repeated name", "Integer", '{"a":["",""]}'],
	["the word null", "Boolean", '{"a":"null"}'],
])("%s of a form isn't empty, so it is unfit", async (_, type, body) => {
	expect(await columnOf(body, type, "/a", "form")).toBe("unfit");
});

test("in JSON, and in what is stored as neither, an empty text is a value", async () => {
	for (const kind of ["json", "erased"]) {
		expect(await columnOf('{"a":""}', "Date", "/a", kind)).toBe("unfit");
		expect(await columnOf('{"a":""}', "JSON", "/a", kind)).toBe('""');
	}
});

test("of an object with events of both kinds only JSON's empty texts are counted", async () => {
	const columns = [column("Integer"), column("String", "/a", "text")];
	const body = '{"a":""}';
	const files = [
		{ file: await fileOfKind("form", [body, body, '{"a":"1"}', '{"a":"x"}']) },
		{ file: await fileOf(body, "{}") },
	];
	expect(
		unfitValues(await countUnfit(columns, [], files, session)),
	).toMatchObject([{ column: "c", rows: 2, values: 3 }]);
});

const deep = "[".repeat(100_000) + "]".repeat(100_000);
const many = Array.from({ length: 100_000 }, (_, n) => `"m${n}":${n}`);

test.each<[string, string]>([
	["half of a surrogate pair", '"b":"\\ud800"'],
	["the other half", '"b":"\\uDC00"'],
	["half of a pair in a name", '"\\ud83c":1'],
	["NUL", '"b":"\\u0000"'],
	["a number beyond 64 bits", '"b":1e400,"c":-1e-400'],
	["100,000 arrays in each other", `"b":${deep}`],
	["100,000 members", many.join(",")],
	["two members with one name", '"b":1,"b":2'],
	["backslashes and quotes", '"b":"\\\\","c":"\\"a","d\\"":"]}"'],
	["white space", ' "b" :\r\n[ 1 ,\t{ } ] '],
])("%s beside a value changes no column of it", async (_, members) => {
	for (const body of [`{"a":"1",${members}}`, `\ufeff{${members},"a" : "1" }`])
		expect(await columnOf(body, "String")).toBe("1");
});

test.each([
	['{"a":"evil","b":1,"a":"ok"}', "/a", "unfit ok"],
	['{"a":"evil","\\u0061":"ok"}', "/a", "unfit ok"],
	['{"a":{"x":"evil"},"a":{"x":"ok"}}', "/a/x", "unfit ok"],
	['{"a":{"x":"evil"},"a":{}}', "/a/x", "unfit"],
	['{"a":"evil","a":null}', "/a", "unfit"],
	['{"a":{"x":"ok","y":1,"y":2}}', "/a/x", "ok"],
	['[{"a":"x"},{"a":"ok"}]', "/1/a", "ok"],
])(
	"of %s, %s is %s: the last member counts",
	async (body, pointer, expected) => {
		expect(await columnOf(body, "String", pointer)).toBe(expected);
	},
);

test("a column holds 100,000 arrays in each other, and as many members", async () => {
	for (const value of [deep, `{${many.join(",")}}`])
		expect(await columnOf(`{"a": ${value}}`, "JSON")).toBe(value);
});

test("what isn't JSON is unfit, and stops nothing", async () => {
	for (const body of ["", "{", '{"a"', '{"a":}', "{'a':1}", '{"a":"x', "[1}"])
		expect(await columnOf(body, "String"), body).toBe("unfit");
});

test.each([
	["/a/b", '{"a":{"b":"x"}}'],
	["/a/1", '{"a":[0,"x"]}'],
	["/0", '{"0":"x"}'],
	["/a~1b/c~0'd", `{"a/b":{"c~'d":"x"}}`],
	["/*", '{"a":"y","*":"x"}'],
	["/$.a", '{"a":"y","$.a":"x"}'],
	["/", '{"":"x"}'],
	["//", '{"":{"":"x"}}'],
	["/a/0/b", '{"a":[{"b":"x"},{"b":"y"}]}'],
	["/a/10", '{"a":[0,1,2,3,4,5,6,7,8,9,"x"]}'],
	["/ü", '{"\\u00fc":"x"}'],
])("%s names its value in %s", async (pointer, body) => {
	expect(await columnOf(body, "String", pointer)).toBe("x");
});

test("values that don't fit are counted by column over days, and columns without any are left out", async () => {
	const columns = [
		{ name: "event_id", from: "EventID" as const },
		column("Integer", "/a", "number"),
		column("String", "/a", "text"),
		column("Date", "/b", "day of"),
	];
	const count = (...files: string[]) =>
		countUnfit(
			columns,
			[],
			files.map((file) => ({ file })),
			session,
		);
	const counts = [
		await count(await fileOf('{"a":1}', '{"a":"x","b":1}', "{}", '{"a":null}')),
		await count(await fileOf('{"a":1.5}', '{"a":"y"}')),
		await count(),
	];
	expect(unfitValues(addUnfit(counts))).toEqual([
		{ column: "number", rows: 3, values: 4, eventID: "e1" },
		{ column: "day of", rows: 1, values: 1, eventID: "e1" },
	]);
	expect(unfitValues({})).toEqual([]);
});

test.each<[json: string, column: BodyValueType, value: string]>([
	['"1899-12-31"', { type: "Date" }, "?"],
	['"1900-01-01"', { type: "Date" }, "=1900-01-01"],
	['"2300-01-01T00:00:00Z"', { type: "Timestamp" }, "?"],
	['{"a":[1,{"b":2}]}', { type: "JSON" }, '={"a":[1,{"b":2}]}'],
	['{"a":[[{"b":2}]]}', { type: "JSON" }, "?"],
	['{"a":1,"a":2}', { type: "JSON" }, '!{"a":2}'],
	['{"a":1e999}', { type: "JSON" }, "?"],
	['{"a":"1e999 {[{["}', { type: "JSON" }, '={"a":"1e999 {[{["}'],
	["[1]", { type: "JSON" }, "?"],
	["5", { type: "JSON" }, "?"],
	['"5"', { type: "String" }, "=5"],
])(
	"%s in %j doesn't fit what the warehouse doesn't hold",
	(json, column, value) => {
		const limits = { years: [1900, 2299], objectDepth: 3 } as const;
		expect(columnValue(json, { ...column, limits })).toBe(value);
	},
);

test.each([
	['{"a":{"b":1},"a.b":2}', false],
	['{"x":[[{"a":{"b":1},"a.b":2}]]}', false],
	['{"a.b":{"c":1},"a":{"b.c":2}}', false],
	[String.raw`{"a\u002eb":1,"a":{"b":3}}`, false],
	['{"":{"a":1},".a":2}', false],
	['{"a":{"b":[]},"a.b":{"c":1}}', true],
	['{"a.b":1,"a":{"c":"x.y"}}', true],
	['{"a":{"b":null},"a.b":2}', true],
	['{"a":{"b":{}},"a.b":2}', true],
	['{"x":[{"a.b":1},{"a":{"b":1}}]}', true],
	['{"__proto__":{"b":1},"c.d":1}', true],
])(
	"%s fits a warehouse that knows a value by its path: %s",
	(json, isFitting) => {
		const value = columnValue(json, {
			type: "JSON",
			limits: { objectDepth: 500 },
		});
		expect(value).toBe(isFitting ? `=${json}` : "?");
	},
);

test("a value of a million dots is looked at once", () => {
	const long = ".".repeat(1_000_000);
	const json = `{"${long}":"${long}"}`;
	const limits = { objectDepth: 500 };
	expect(columnValue(json, { type: "JSON", limits })).toBe(`=${json}`);
});

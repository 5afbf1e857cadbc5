import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addUnfit, unfitValues } from "../../../ingest/load/addition.ts";
import { countUnfit } from "../../../ingest/load/day-files.ts";
import type { BodyColumnType, TableColumn } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { bodyValueSql, defineBodyValues, eventRows } from "./columns.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "body-"));
	session = await Session.inMemory({}, new AbortController().signal);
	await session.run("SET TimeZone = 'Asia/Tokyo'");
	defineBodyValues(session);
});
afterAll(async () => {
	session.close();
	await rm(directory, { recursive: true });
});

let files = 0;

async function fileOf(...bodies: string[]): Promise<string> {
	const file = join(directory, `${files++}.parquet`);
	const rows = bodies.map((body) => `(${quoteText(body)})`).join(", ");
	await session.run(
		`COPY (SELECT * FROM (VALUES ${rows}) AS t(body)) TO ${quoteText(file)} (FORMAT parquet)`,
	);
	return file;
}

function column(
	type: BodyColumnType,
	bodyPointer = "/a",
	name = "c",
): TableColumn {
	return { name, from: { bodyPointer, type } };
}

/** The value that a column has for a body, as text, and whether it is counted as one that doesn't fit. */
async function readOf(body: string, type: BodyColumnType, pointer = "/a") {
	const file = await fileOf(body);
	const place = { type, bodyPointer: pointer };
	const { type: sqlType, value, isUnfit } = bodyValueSql(place, 0);
	const [found] = await session.rows<Record<string, string | boolean | null>>(
		`SELECT typeof(${value}) AS type, (${value})::VARCHAR AS value, ${isUnfit} AS is_unfit` +
			` FROM ${eventRows([file], [column(type, pointer)])}`,
	);
	expect(found!.type).toBe(sqlType);
	return { value: found!.value, isUnfit: found!.is_unfit };
}

/** Of values that don't fit, none is there. */
async function columnOf(body: string, type: BodyColumnType, pointer = "/a") {
	const { value, isUnfit } = await readOf(body, type, pointer);
	if (isUnfit) expect(value).toBeNull();
	return isUnfit ? "unfit" : value;
}

test.each<[BodyColumnType, string, string]>([
	["String", '"ü \\"1\\""', 'ü "1"'],
	["String", '""', ""],
	["String", "12345678901234567890123", "12345678901234567890123"],
	["String", "12345678901234567.89", "12345678901234567.89"],
	["String", "1.10", "1.10"],
	["String", "1e3", "1e3"],
	["String", "-0.0", "-0.0"],
	["String", "0.30000000000000000001", "0.30000000000000000001"],
	["String", "-0", "-0"],
	["JSON", "[-0,0]", "[-0,0]"],
	["Integer", "-0e400", "0"],
	["String", "true", "true"],
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
	["Integer", "900719925474099.3e1", "9007199254740993"],
	["Integer", "1.00000000000000000001", "unfit"],
	["Integer", "-0.0", "0"],
	["Integer", "1e-1", "unfit"],
	["Integer", "10e-1", "1"],
	["Integer", '"1e3"', "1000"],
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
	["Number", '"NaN"', "unfit"],
	["Number", '"inf"', "unfit"],
	["Boolean", "false", "false"],
	["Boolean", '"true"', "true"],
	["Boolean", "1", "unfit"],
	["Boolean", '"yes"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:00Z"', "2026-03-01 21:00:00+09"],
	["Timestamp", '"2026-03-01t12:00:00.25-05:30"', "2026-03-02 02:30:00.25+09"],
	["Timestamp", '"2026-03-01T12:00:00+0530"', "2026-03-01 15:30:00+09"],
	["Timestamp", '"2026-03-01 12:00:00-01"', "2026-03-01 22:00:00+09"],
	["Timestamp", '"2016-12-31T23:59:60Z"', "2017-01-01 09:00:00+09"],
	["Timestamp", '"2016-12-31T23:59:60.5Z"', "2017-01-01 09:00:00.5+09"],
	["Timestamp", '"2026-03-01T24:00:00Z"', "2026-03-02 09:00:00+09"],
	["Timestamp", '"2026-03-01T24:00:00.000+02"', "2026-03-02 07:00:00+09"],
	["Timestamp", '"2026-03-01T24:00:01Z"', "unfit"],
	["Timestamp", '"2026-03-01T25:00:00Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:60:00Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:61Z"', "unfit"],
	["Timestamp", '"9999-12-31T24:00:00Z"', "unfit"],
	["Timestamp", '"2026-03-01T12:00:00"', "unfit"],
	["Timestamp", '"2026-02-30T12:00:00Z"', "unfit"],
	["Timestamp", '"0001-01-01T00:00:00+01:00"', "unfit"],
	["Timestamp", '"9999-12-31T23:59:59-01:00"', "unfit"],
	["Timestamp", "1772366400", "unfit"],
	["Date", '"2026-03-01"', "2026-03-01"],
	["Date", '"2026-02-30"', "unfit"],
	["Date", '"0000-01-01"', "unfit"],
	["Date", '"2026-03-01T12:00:00Z"', "unfit"],
	["JSON", '{"b" : [1, "x"]}', '{"b":[1,"x"]}'],
	["JSON", '"x"', '"x"'],
	[
		"JSON",
		'{"n": [1.10, 12345678901234567.89, 1e3]}',
		'{"n":[1.10,12345678901234567.89,1e3]}',
	],
	["JSON", '{"s": "1.5 x"}', '{"s":"1.5 x"}'],
])("as %s, %s is %s", async (type, json, expected) => {
	expect(await columnOf(`{"a":${json}}`, type)).toBe(expected);
});

const types: BodyColumnType[] = [
	"String",
	"Integer",
	"Number",
	"Boolean",
	"Timestamp",
	"Date",
	"JSON",
];

test.each(types)("nothing and null are NULL as %s, and fit", async (type) => {
	for (const body of ['{"b":1}', '{"a":null}', "[]", "null", '"a"'])
		expect(await columnOf(body, type), body).toBeNull();
});

const half = String.raw`"b":"cut \ud83c"`;

test.each<[BodyColumnType, string, string]>([
	["String", '"x"', "x"],
	["Integer", "1", "1"],
	["Number", "1.5", "1.5"],
	["Boolean", "true", "true"],
	["Timestamp", '"2026-03-01T12:00:00Z"', "2026-03-01 21:00:00+09"],
	["Date", '"2026-03-01"', "2026-03-01"],
	["JSON", '{"x":[1]}', '{"x":[1]}'],
])(
	"a half of a surrogate pair elsewhere leaves %s %s as it is",
	async (type, json, value) => {
		// RFC 8259 §8.2 allows it.
		expect(await columnOf(`{"a":${json},${half}}`, type)).toBe(value);
		expect(await columnOf(`{${half},"a":${json}}`, type)).toBe(value);
		expect(await columnOf(`{${half}}`, type)).toBeNull();
		expect(await columnOf(`{"a":${json},"b":"\\ud83d\\ude00"}`, type)).toBe(
			value,
		);
	},
);

test.each<[BodyColumnType, string, string]>([
	["String", String.raw`"cut \ud83c"`, "cut \ufffd"],
	["JSON", String.raw`{"x":"\uDC00y"}`, '{"x":"\ufffdy"}'],
])(
	"a broken string reads U+FFFD as %s, and doesn't fit",
	async (type, json, value) => {
		expect(await readOf(`{"a":${json}}`, type)).toEqual({
			value,
			isUnfit: true,
		});
	},
);

test.each([
	['{"a":1,"a":2}', "/a", "2"],
	['{"a":1,"\\u0061":2}', "/a", "2"],
	['{"a":{"b":1},"a":{"b":2}}', "/a/b", "2"],
	['{"a":{"b":1,"b":2}}', "/a/b", "2"],
	['{"a":[{"b":1},{"b":2,"b":3}]}', "/a/1/b", "3"],
	['{"a":1,"a":{"b":2}}', "/a/b", "2"],
])(
	"of members that stand twice in %s, %s has the last one, and doesn't fit",
	async (body, pointer, value) => {
		for (const type of ["String", "Integer", "JSON"] as const)
			expect(await readOf(body, type, pointer)).toEqual({
				value,
				isUnfit: true,
			});
	},
);

test("a member that stands twice where no column reads is nobody's concern, and one whose last value is nothing is NULL and doesn't fit", async () => {
	expect(await readOf('{"a":1,"b":1,"b":2}', "Integer")).toEqual({
		value: "1",
		isUnfit: false,
	});
	expect(await readOf('{"c":{"a":1,"a":2},"a":3}', "Integer")).toEqual({
		value: "3",
		isUnfit: false,
	});
	expect(await readOf('{"a":{"b":1},"a":{}}', "Integer", "/a/b")).toEqual({
		value: null,
		isUnfit: true,
	});
});

test.each([
	["NUL", String.raw`"b":"\u0000"`],
	["a number that is too large", '"b":1e400'],
	["depth", `"b":${"[".repeat(5_000)}${"]".repeat(5_000)}`],
	[
		"100,000 members",
		Array.from({ length: 100_000 }, (_, n) => `"m${n}":${n}`).join(","),
	],
])("%s in a body leaves the other columns as they are", async (_, member) => {
	for (const body of [`{"a":"x",${member}}`, `{${member},"a":"x"}`])
		expect(await readOf(body, "String")).toEqual({
			value: "x",
			isUnfit: false,
		});
});

test.each([
	["/a/b", '{"a":{"b":"x"}}'],
	["/a/1", '{"a":[0,"x"]}'],
	["/0", '{"0":"x"}'],
	["/a~1b/c~0'd", `{"a/b":{"c~'d":"x"}}`],
	["/*", '{"a":"y","*":"x"}'],
	["/$.a", '{"a":"y","$.a":"x"}'],
	["/", '{"":"x"}'],
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
	const count = (...files: string[]) => countUnfit(columns, files, session);
	const counts = [
		await count(await fileOf('{"a":1}', '{"a":"x","b":1}', "{}")),
		await count(await fileOf('{"a":1.5}', '{"a":"y"}')),
		await count(),
	];
	expect(unfitValues(addUnfit(counts))).toEqual([
		{ column: "number", rows: 3 },
		{ column: "day of", rows: 1 },
	]);
	expect(unfitValues({})).toEqual([]);
});

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addUnfit, unfitValues } from "../../../ingest/load/addition.ts";
import { countUnfit } from "../../../ingest/load/day-files.ts";
import type { BodyColumnType, TableColumn } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { bodyValueSql, eventRows } from "./columns.ts";

let directory: string;
let session: Session;
beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "body-"));
	session = await Session.inMemory({}, new AbortController().signal);
	await session.run("SET TimeZone = 'Asia/Tokyo'");
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

/** The value that a column has for a body, as text, and whether the body has another one there. */
async function columnOf(body: string, type: BodyColumnType, pointer = "/a") {
	const file = await fileOf(body);
	const {
		type: sqlType,
		value,
		isUnfit,
	} = bodyValueSql({ type, bodyPointer: pointer }, 0);
	const [found] = await session.rows<Record<string, string | boolean | null>>(
		`SELECT typeof(${value}) AS type, (${value})::VARCHAR AS value, ${isUnfit} AS is_unfit` +
			` FROM ${eventRows([file], [column(type, pointer)])}`,
	);
	expect(found!.type).toBe(sqlType);
	return found!.is_unfit ? "unfit" : found!.value;
}

test.each<[BodyColumnType, string, string]>([
	["String", '"ü \\"1\\""', 'ü "1"'],
	["String", '""', ""],
	["String", "12345678901234567890123", "12345678901234567890123"],
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
	["Integer", "9007199254740993.0", "unfit"],
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

test.each(types)(
	"what DuckDB can't read is NULL as %s, doesn't fit and stops nothing",
	async (type) => {
		// RFC 8259 §8.2 allows half of a surrogate pair.
		for (const body of ['{"a":1,"b":"\\ud800"}', '{"a":1,"b":"\\uDC00"}'])
			expect(await columnOf(body, type)).toBe("unfit");
		expect(await columnOf('{"b":"\\ud83d\\ude00"}', type)).toBeNull();
	},
);

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

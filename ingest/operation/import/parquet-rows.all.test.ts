// In make test: ingest/operation/import/event-of-row.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Session } from "../../../packages/duckdb/session.ts";
import { passingDirectory } from "../../../test/support/faults/passing-directory.ts";
import { readParquetRows } from "./parquet-rows.ts";
import type { RowForm } from "./row.ts";

async function rowsOf(
	select: string | Buffer,
	config = {},
	zone = "UTC",
	form: RowForm = { rows: "Events" },
) {
	const directory = await passingDirectory("parquet");
	const path = join(directory, "a.parquet");
	const { signal } = new AbortController();
	const memory = { temp_directory: directory, threads: "1" };
	const session = await Session.inMemory({ ...memory, ...config }, signal);
	onTestFinished(() => session.close());
	if (typeof select === "string")
		await session.run(
			`COPY (${select}) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 4096)`,
		);
	else await writeFile(path, select);
	// The machine's, by default.
	await session.run(`SET TimeZone = '${zone}'`);
	return Array.fromAsync(readParquetRows(session, { path, name: "a" }, form));
}

const ms = Date.parse("2026-03-01T10:00:00.123Z");

test.each([
	["TIMESTAMPTZ '2026-03-01 11:00:00.123+01'", ms],
	["TIMESTAMP '2026-03-01 10:00:00.123'", ms],
	["DATE '2026-03-01'", Date.parse("2026-03-01")],
	["'2026-03-01T10:00:00.123Z'", "2026-03-01T10:00:00.123Z"],
	["NULL::TIMESTAMP", undefined],
])("a row's time is %s", async (time, expected) => {
	const sql = `SELECT '{"a": 1.0}' AS body, ${time} AS received_at, 'i' AS event_id`;
	expect(await rowsOf(sql)).toEqual([
		{
			row: 1,
			body: '{"a": 1.0}',
			time: expected,
			id: "i",
			headers: undefined,
		},
	]);
});

test("the machine's time zone changes neither a time nor a body", async () => {
	const at = "TIMESTAMPTZ '2026-03-01 11:00:00.123+01'";
	const sql = `SELECT {t: ${at}} AS body, ${at} AS received_at`;
	const [row] = await rowsOf(sql, {}, "Europe/Berlin");
	expect(row).toMatchObject({
		time: ms,
		body: '{"t":"2026-03-01T10:00:00.123Z"}',
	});
});

test("a body that is no text becomes JSON, and one that is null is invalid", async () => {
	const sql = "SELECT unnest([{a: 1}, NULL]) AS body";
	const none = { time: undefined, id: undefined, headers: undefined };
	expect(await rowsOf(sql)).toEqual([
		{ row: 1, body: '{"a":1}', ...none },
		{ row: 2, fault: "the body is null", ...none },
	]);
});

test("a row keeps its number in whatever order DuckDB reads", async () => {
	const rows = await rowsOf(
		"SELECT n::VARCHAR AS body FROM range(300_000) t(n)",
		{ threads: "4", preserve_insertion_order: "false" },
	);
	expect(rows).toHaveLength(300_000);
	expect(rows.filter(({ row, body }) => Number(body) + 1 !== row)).toEqual([]);
});

test.each([
	["without bodies", "SELECT 1 AS a", /columns a, but no column "body"/],
	[
		"with a number for a time",
		"SELECT '1' AS body, 5 AS time",
		/"time" of a has the type INTEGER/,
	],
	["that is none", Buffer.from("PAR1"), /a is no Parquet file/],
])("a file %s is invalid", async (_, select, message) => {
	await expect(rowsOf(select)).rejects.toMatchObject({
		code: "UploadInvalid",
		message: expect.stringMatching(message),
	});
});

const archived =
	"'e' AS event_id, TIMESTAMPTZ '2026-03-01' AS timestamp, 'Stored' AS kind, NULL AS headers, NULL AS violations";

test.each<[string, RowForm, object]>([
	["'[1]' AS body", {}, { body: "[1]" }],
	[`'[1]' AS body, ${archived}`, {}, { body: "[1]", id: "e" }],
	[
		`'{}' AS body, ${archived.replace("'Stored'", "'form'")}`,
		{},
		{ body: "{}", isForm: true },
	],
	[
		"'[1]' AS body, 'e' AS event_id",
		{},
		{ undecided: { choices: [["--rows events", expect.any(String)], {}] } },
	],
	["'[1]' AS body, 7 AS n", { body: "Text" }, { body: "[1]" }],
	["'[1]' AS body, 7 AS n", { body: "JSON" }, { body: '"[1]"' }],
	[
		"'[1]' AS body, 12345678901234567.89::DECIMAL(19,2) AS n, DATE '2026-03-02' AS time",
		{ rows: "Bodies" },
		{
			body: '{"body":"[1]","n":12345678901234567.89,"time":"2026-03-02"}',
			time: Date.parse("2026-03-02"),
			id: undefined,
		},
	],
	["7 AS n", { rows: "Bodies" }, { body: '{"n":7}' }],
	[
		"7 AS n, 1772323200 AS time",
		{ rows: "Bodies", date: "2026-03-01" },
		{ time: undefined, otherTime: "time is 1772323200" },
	],
])("the row %s, with %j, is %j", async (select, form, expected) => {
	const [row] = await rowsOf(`SELECT ${select}`, {}, "UTC", form);
	expect(row).toMatchObject(expected);
});

test.each<[string, RowForm, object]>([
	["encode('{\"k\":1}') AS body", {}, { body: '{"k":1}' }],
	["'\\xff'::BLOB AS body", {}, { fault: /"body" has bytes that are not UTF/ }],
	[
		"'[1]' AS body, '\\xff'::BLOB AS headers",
		{ rows: "Events" },
		{ fault: /"headers" has bytes/ },
	],
	["'NaN'::DOUBLE AS n", { rows: "Bodies" }, { fault: /"n" is NaN/ }],
	[
		"{a: [{b: '-inf'::FLOAT}]} AS n",
		{ rows: "Bodies" },
		{ fault: /its column "n\.a\.b" is -Infinity/ },
	],
	[
		"TIMESTAMP '2026-07-01 10:00:00' AS at, DATE '2026-03-02' AS time",
		{ rows: "Bodies", timeZone: "Europe/Berlin" },
		{
			reading: "Europe/Berlin",
			body: '{"at":"2026-07-01T10:00:00+02:00","time":"2026-03-02"}',
			time: Date.parse("2026-03-02"),
		},
	],
	[
		"TIMESTAMP '2026-07-01 10:00:00' AS time",
		{ rows: "Bodies", timeZone: "Europe/Berlin" },
		{
			body: '{"time":"2026-07-01T10:00:00+02:00"}',
			time: Date.parse("2026-07-01T10:00:00Z"),
		},
	],
	[
		"TIMESTAMP '2026-03-29 02:30:00' AS at",
		{ rows: "Bodies", timeZone: "Europe/Berlin" },
		{ fault: /"at" is 2026-03-29T02:30:00, which Europe\/Berlin has not/ },
	],
	['1 AS "a\'b"', { rows: "Bodies" }, { body: `{"a'b":1}` }],
])("the row %s, with %j, is exact: %j", async (select, form, expected) => {
	const { fault, ...others } = expected as { fault?: RegExp };
	const [row] = await rowsOf(`SELECT ${select}`, {}, "UTC", form);
	expect(row).toMatchObject({
		...others,
		...(fault && { fault: expect.stringMatching(fault) }),
	});
});

test("a body that is no text isn't taken for JSON text", async () => {
	const rows = rowsOf("SELECT {a: 1} AS body", {}, "UTC", { body: "Text" });
	await expect(rows).rejects.toMatchObject({
		code: "UploadInvalid",
		message: expect.stringContaining("--body json"),
	});
});

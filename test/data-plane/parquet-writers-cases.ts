import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { readParquetRows } from "../../ingest/operation/import/parquet-rows.ts";
import { Session } from "../../packages/duckdb/session.ts";
import { passingDirectory } from "../support/faults/passing-directory.ts";
import { done } from "../support/servers/python.ts";

/* Parquet files as their writers make them, and what an Import makes of their rows. */

const programs = join(import.meta.dirname, "../support/parquet-writers");

async function session(): Promise<Session> {
	const session = await Session.inMemory({}, new AbortController().signal);
	onTestFinished(() => session.close());
	return session;
}

/** The rows of a file as bodies, or their faults. */
export async function bodiesOf(path: string): Promise<(string | undefined)[]> {
	const form = { rows: "Bodies" } as const;
	const rows = readParquetRows(await session(), { path, name: "a" }, form);
	const all = await Array.fromAsync(rows);
	return all.map(({ body, fault }) => fault ?? body);
}

/** The file that a program of test/support/parquet-writers makes. */
export async function fileBy(
	python: string,
	program: string,
	...options: string[]
): Promise<string> {
	const path = join(await passingDirectory("writers"), "made.parquet");
	await done(python, [join(programs, program), path, ...options]);
	return path;
}

export async function fileByDuckDB(options = ""): Promise<string> {
	const path = join(await passingDirectory("writers"), "made.parquet");
	const select = readFileSync(join(programs, "duckdb.sql"), "utf8");
	await (await session()).run(
		`COPY (${select}) TO '${path}' (FORMAT parquet${options})`,
	);
	return path;
}

const nines = (count: number) => "9".repeat(count);

/** What arrow.py writes: a usual value, that at its end, and none. */
const byArrow: [name: string, usual: string, end: string][] = [
	["yes", "true", "false"],
	["i8", "1", "-128"],
	["u16", "1", "65535"],
	["u32", "1", "4294967295"],
	["i64", "1", "-9223372036854775808"],
	["u64", "1", "18446744073709551615"],
	["f16", "1.5", "-65504.0"],
	["f32", "0.10000000149011612", "-3.4028234663852886e+38"],
	["f64", "0.1", "-5e-324"],
	["whole", "5.0", "-0.0"],
	["d9", "1.10", "-9999999.99"],
	["d18", "1.10", "-0.01"],
	["d38", "1.10", `-${nines(36)}.99`],
	["d76", "7", `-${nines(76)}`],
	["text", '"Käse"', String.raw`"\"\\\u0000\n"`],
	["large", '"Käse"', '""'],
	["kind", '"a"', '"b"'],
	["bytes", '"Käse"', '""'],
	["fixed", '"ab"', String.raw`"\u0000\u0000"`],
	[
		"id",
		'"00000000-0000-0000-0000-000000000007"',
		'"ffffffff-ffff-ffff-ffff-ffffffffffff"',
	],
	["json", '{"a": 1.0}', " [1] "],
	["day", '"2026-03-01"', '"0001-01-01"'],
	["ms", '"00:00:00.001"', '"23:59:59.999"'],
	["us", '"00:00:00.000001"', '"23:59:59.999999"'],
	["ns", '"00:00:00.000000001"', '"23:59:59.999999999"'],
	["at_ms", '"1970-01-01T00:00:00.001Z"', '"1969-12-31T23:59:59.999Z"'],
	["at_us", '"1970-01-01T00:00:00.000001Z"', '"1969-12-31T23:59:59.999999Z"'],
	[
		"at_ns",
		'"1970-01-01T00:00:00.000000001Z"',
		'"1969-12-31T23:59:59.999999999Z"',
	],
	["local_s", '"1970-01-01T00:00:01"', '"1969-12-31T23:59:59"'],
	["local_us", '"1970-01-01T00:00:00.000001"', '"1969-12-31T23:59:59.999999"'],
	[
		"local_ns",
		'"1970-01-01T00:00:00.000000001"',
		'"1969-12-31T23:59:59.999999999"',
	],
	["none", "null", "null"],
	["list", "[1,null]", "[]"],
	["lists", "[[1.0],[],null]", "[null]"],
	["objects", '[{"a":1},null,{"a":null}]', "[]"],
	["object", '{"a":1,"A":{"b":"x"}}', '{"a":null,"A":{"b":null}}'],
	["map", String.raw`{"k":1,"\"":null}`, "{}"],
	["numbers", '{"1":["x"],"2":null}', "{}"],
	["file_row_number", "1", "2"],
	["Day", '"other"', '""'],
];

const object = (members: readonly (readonly [string, string])[]) =>
	`{${members.map(([name, json]) => `"${name}":${json}`).join(",")}}`;

export async function arrowIsExact(path: string): Promise<void> {
	expect(await bodiesOf(path)).toEqual([
		object(byArrow.map(([name, usual]) => [name, usual])),
		object(byArrow.map(([name, , end]) => [name, end])),
		object(byArrow.map(([name]) => [name, "null"])),
	]);
}

export async function duckDBIsExact(path: string): Promise<void> {
	expect(await bodiesOf(path)).toEqual([
		object([
			["yes", "true"],
			["i8", "-128"],
			["u64", "18446744073709551615"],
			["f32", "0.10000000149011612"],
			["f64", "0.1"],
			["d9", "1.10"],
			["d18", "-0.01"],
			["d38", "1.10"],
			["text", '"Käse"'],
			["bytes", '"Käse"'],
			["id", '"00000000-0000-0000-0000-000000000007"'],
			["json", '{"a": 1.0}'],
			["kind", '"a"'],
			["day", '"2026-03-01"'],
			["clock", '"10:00:00.5"'],
			["zoned", '"08:00:00Z"'],
			["local", '"2026-03-01T10:00:00.123456"'],
			["local_ns", '"2026-03-01T10:00:00.123456789"'],
			["local_ms", '"2026-03-01T10:00:00.123"'],
			["at", '"2026-03-01T10:00:00.123456Z"'],
			["span", '"P1M2DT0.5S"'],
			["list", "[1,null]"],
			["lists", "[[1],[],null]"],
			["map", String.raw`{"k":1,"\"":null}`],
			["numbers", '{"1":["x"],"2":null}'],
			["object", '{"a":1,"b":[{"c":"x"}]}'],
			["objects", '[{"a":1},null]'],
			["empty", "[]"],
			["none", "null"],
		]),
	]);
}

/** @param at its TIMESTAMP, which is an INT96 unless Spark is told otherwise. */
export async function sparkIsExact(path: string, at: string): Promise<void> {
	expect(await bodiesOf(path)).toEqual([
		object([
			["yes", "true"],
			["i8", "1"],
			["i64", "9223372036854775807"],
			["f32", "0.10000000149011612"],
			["f64", "0.1"],
			["d3", "1.10"],
			["d38", "-1.10"],
			["text", '"Käse"'],
			["bytes", '"Käse"'],
			["day", '"2026-03-01"'],
			["at", `"${at}"`],
			["local", '"2026-03-01T10:00:00.123456"'],
			["list", "[1,null]"],
			["lists", "[[1],null]"],
			["map", '{"k":1.5}'],
			["object", '{"a":1,"b":[{"c":"x"}]}'],
			["objects", '[{"a":1}]'],
			["empty", "[]"],
			["none", "null"],
		]),
	]);
}

export async function clickHouseIsExact(path: string): Promise<void> {
	expect(await bodiesOf(path)).toEqual([
		object([
			["yes", "true"],
			["i8", "-128"],
			["u64", "18446744073709551615"],
			["f32", "0.10000000149011612"],
			["f64", "0.1"],
			["d9", "1.10"],
			["d18", "-0.01"],
			["d38", "1.10"],
			["d76", "7"],
			["text", '"Käse"'],
			["fixed", '"ab"'],
			["id", '"00000000-0000-0000-0000-000000000007"'],
			["day", '"2026-03-01"'],
			["day32", '"1925-01-01"'],
			["at", '"2026-03-01T10:00:00Z"'],
			["at_ns", '"2026-03-01T10:00:00.123456789Z"'],
			["at_ms", '"2026-03-01T10:00:00.123Z"'],
			["kind", '"a"'],
			["low", '"x"'],
			["ip", "2130706433"],
			["list", "[1,2]"],
			["lists", "[[1],[]]"],
			["map", '{"k":1}'],
			["object", '{"a":1,"b":"x"}'],
			["none", "null"],
		]),
	]);
}

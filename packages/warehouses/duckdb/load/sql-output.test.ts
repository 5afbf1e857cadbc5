import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import type { SqlFormat } from "../../definition/sql.ts";
import { output } from "./sql-output.ts";

async function ask(sql: string, format: SqlFormat): Promise<string> {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run("SET TimeZone = 'UTC'");
		const pieces = output(await connection.stream(sql), format);
		return (await Array.fromAsync(pieces)).join("");
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

test("timestamps are in UTC, whatever the process's time zone", async () => {
	const query =
		"select timestamptz '2026-03-01 00:30:00.5+02:00' as t, date '2026-03-01' as d";
	expect(JSON.parse(await ask(query, "json"))).toEqual({
		t: "2026-02-28 22:30:00.5+00",
		d: "2026-03-01",
	});
	expect(await ask(query, "csv")).toBe(
		"t,d\r\n2026-02-28 22:30:00.5+00,2026-03-01\r\n",
	);
});

test("numbers are JSON numbers unless a reader would round them", async () => {
	expect(
		JSON.parse(
			await ask(
				"select count(*) as n, 9007199254740993::bigint as big, 1.5::decimal(4,2) as money, 0.1::double as x, 'nan'::double as nan from range(3)",
				"json",
			),
		),
	).toEqual({ n: 3, big: "9007199254740993", money: 1.5, x: 0.1, nan: "NaN" });
});

test("nested values are JSON, and NULL is null", async () => {
	expect(
		JSON.parse(
			await ask("select {'a': [1, null]} as s, null as nothing", "json"),
		),
	).toEqual({ s: { a: [1, null] }, nothing: null });
});

test("text is complete and unchanged", async () => {
	const text = '{"a":"\\u0000 🎉 ü\\n"}\n\t';
	const query = `select '${text}' as body`;
	expect(JSON.parse(await ask(query, "json"))).toEqual({ body: text });
	expect(await ask(query, "csv")).toBe(
		`body\r\n"${text.replaceAll('"', '""')}"\r\n`,
	);
});

test("each row is one line of JSON", async () => {
	const lines = (await ask("select i from range(5000) t(i)", "json"))
		.trimEnd()
		.split("\n");
	expect(lines).toHaveLength(5000);
	expect(lines.at(-1)).toBe('{"i":4999}');
});

test("what is too much for a table is refused; json and csv print it row by row", async () => {
	const query = "select repeat('x', 1000000) as body from range(70)";
	await expect(ask(query, "table")).rejects.toThrow(
		"The first 68 rows have more than 64 MiB of text, which is too much for a table. Add LIMIT",
	);
	expect(await ask(query, "csv")).toHaveLength(70 * 1_000_002 + 6);
});

test("a decimal is written digit by digit in each format, whatever its precision", async () => {
	const query =
		"select 12345678901234567.89::decimal(19,2) as large, 1.10::decimal(4,2) as price, (-0.000000001)::decimal(38,9) as tiny, null::decimal(4,2) as none," +
		" '99999999999999999999999999999999999999'::decimal(38,0) as most, '123456789012.340'::decimal(15,3) as fits";
	const texts = [
		"12345678901234567.89",
		"1.10",
		"-0.000000001",
		"",
		"99999999999999999999999999999999999999",
		"123456789012.340",
	];
	expect(await ask(query, "csv")).toBe(
		`large,price,tiny,none,most,fits\r\n${texts.join(",")}\r\n`,
	);
	for (const text of texts) expect(await ask(query, "table")).toContain(text);
	expect(await ask(query, "json")).toBe(
		'{"large":"12345678901234567.89","price":1.10,"tiny":"-0.000000001","none":null,"most":"99999999999999999999999999999999999999","fits":123456789012.340}\n',
	);
});

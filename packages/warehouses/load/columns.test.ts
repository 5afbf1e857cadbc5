import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import type { TableColumn } from "../../contracts/job.ts";
import { columnSql } from "./columns.ts";

const event =
	"select 'e1' as event_id, timestamptz '2026-03-01 23:30:00+00' as timestamp," +
	` '{"a":1}' as body, '2026-03-01' as date, '{"x-a":"ü \\"1\\"","x-b.c*":"2","?hub.mode":"q"}' as headers`;

/** The column's type and value that DuckDB gives for an event, in a session outside UTC. */
async function select(from: TableColumn["from"], row = event) {
	const instance = await DuckDBInstance.create(":memory:");
	const connection = await instance.connect();
	try {
		await connection.run("SET TimeZone = 'Asia/Tokyo'");
		const { expression } = columnSql({ name: "c", from });
		const result = await connection.run(
			`select typeof(c), c::varchar from (select ${expression} as c from (${row}))`,
		);
		return (await result.getRowsJS())[0];
	} finally {
		connection.closeSync();
		instance.closeSync();
	}
}

test.each<[TableColumn["from"], string, string]>([
	["EventID", "VARCHAR", "e1"],
	["Timestamp", "TIMESTAMP WITH TIME ZONE", "2026-03-02 08:30:00+09"],
	["Body", "VARCHAR", '{"a":1}'],
	["Date", "DATE", "2026-03-01"],
	[{ header: "x-a" }, "VARCHAR", 'ü "1"'],
	[{ header: "x-b.c*" }, "VARCHAR", "2"],
	[{ header: "?hub.mode" }, "VARCHAR", "q"],
])("a column from %j is a %s", async (from, type, value) => {
	expect(columnSql({ name: "c", from })).toMatchObject({ name: "c", type });
	expect(await select(from)).toEqual([type, value]);
});

test.each([
	["an event without headers", "''"],
	["an object without headers", "null::varchar"],
	["an event without this header", `'{"x-b":"2"}'`],
	[
		"headers with half of a surrogate pair",
		String.raw`'{"x-a":"1","x-b":"\ud800"}'`,
	],
])("a header's column is NULL for %s", async (_, headers) => {
	const row = `select ${headers} as headers`;
	expect(await select({ header: "x-a" }, row)).toEqual(["VARCHAR", null]);
});

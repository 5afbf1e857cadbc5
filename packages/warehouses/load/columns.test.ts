import { expect, test } from "vitest";
import type { TableColumn } from "../../contracts/job.ts";
import { Session } from "../../duckdb/session.ts";
import { defineBodyValues } from "./body-values.ts";
import { columnSql, headerSql } from "./columns.ts";

const event =
	"select 'e1' as event_id, timestamptz '2026-03-01 23:30:00+00' as timestamp," +
	` '{"a":1}' as body, '2026-03-01' as date, '{"x-a":"ü \\"1\\"","x-b.c*":"2","?hub.mode":"q"}' as headers`;

/** The column's type and value that DuckDB gives for an event, in a session outside UTC. */
async function select(from: TableColumn["from"], row = event) {
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		defineBodyValues(session);
		await session.run("SET TimeZone = 'Asia/Tokyo'");
		const { expression } = columnSql({ name: "c", from });
		const [found] = await session.rows<{ type: string; text: string | null }>(
			`select typeof(c) as type, c::varchar as text from (select ${expression} as c from (${row}))`,
		);
		return [found!.type, found!.text];
	} finally {
		session.close();
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
		"headers without it, with half of a surrogate pair",
		String.raw`'{"x-b":"\ud800"}'`,
	],
])("a header's column is NULL for %s", async (_, headers) => {
	const row = `select ${headers} as headers`;
	expect(await select({ header: "x-a" }, row)).toEqual(["VARCHAR", null]);
});

test.each([
	["x-odd", "cut \ufffd", true],
	["x-low", "\ufffd", true],
	["x-whole", "\ud83c\udf89", false],
	["x-text", String.raw`\ud83c`, false],
	["x-fine", "snow \u2603 \u0001", false],
	["x-empty", "", false],
	["x-none", null, false],
])(
	"of headers with half of a surrogate pair in some, %s is %j",
	async (header, value, isUnfit) => {
		const headers = String.raw`{"x-odd":"cut \ud83c","x-low":"\uDF89","x-whole":"\ud83c\udf89","x-text":"\\ud83c","x-fine":"snow ☃ \u0001","x-empty":""}`;
		const row = `select '${headers}' as headers`;
		expect(await select({ header }, row)).toEqual(["VARCHAR", value]);
		expect(await truth(headerSql(header).isUnfit, row)).toBe(isUnfit);
	},
);

async function truth(condition: string, row: string): Promise<boolean> {
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		defineBodyValues(session);
		const [found] = await session.rows<{ is: boolean }>(
			`select ${condition} as "is" from (${row})`,
		);
		return found!.is;
	} finally {
		session.close();
	}
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TableColumn } from "../../contracts/job.ts";
import { quoteText } from "../../duckdb/quoting.ts";
import { Session } from "../../duckdb/session.ts";
import { defineBodyValues } from "./body-values.ts";
import {
	areLarge,
	areWrittenAlone,
	columnSql,
	eventRows,
	headerSql,
} from "./columns.ts";

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

test("rows of large bodies come in chunks of few, and each comes once", async () => {
	const directory = await mkdtemp(join(tmpdir(), "columns-"));
	onTestFinished(() => rm(directory, { recursive: true }));
	const file = join(directory, "rows.parquet");
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		defineBodyValues(session);
		await session.run("SET enable_caching_operators = false");
		await session.run(
			`COPY (SELECT i AS event_id, '{"a":' || i || '}' AS body, if(i % 3 = 0, 'form', 'json') AS kind FROM range(5000) t(i)) TO ${quoteText(file)} (FORMAT parquet)`,
		);
		const number: TableColumn = {
			name: "a",
			from: { bodyPointer: "/a", type: "Integer" },
		};
		const chunksOf = async (bodyBytes: number) => {
			const sized = { file, rows: 5_000, bodyBytes, groupRows: 5_000 };
			const { expression } = columnSql(number, [number]);
			const sql = `SELECT event_id, ${expression} AS a FROM ${eventRows([sized], [number])}`;
			const found: unknown[][] = [];
			let most = 0;
			for await (const chunk of session.chunks(sql)) {
				most = Math.max(most, chunk.rowCount);
				found.push(...chunk.getRows());
			}
			expect(found.map(([id, a]) => id === a)).not.toContain(false);
			expect(new Set(found.map(([id]) => id)).size).toBe(5_000);
			expect(found.length).toBe(5_000);
			return most;
		};
		expect(await chunksOf(5_000 * 500)).toBe(2_048);
		expect(await chunksOf(5_000 * 16_384)).toBe(2_048 / 8);
		expect(await chunksOf(5_000 * 1024 ** 2)).toBe(4);
	} finally {
		session.close();
	}
});

test.each([
	[
		"a group of many rows",
		{ rows: 8_000, mean: 4_096, groupRows: 4_000 },
		true,
	],
	["archive's groups", { rows: 8_000, mean: 4_096, groupRows: 1_000 }, false],
	["short bodies", { rows: 8_000, mean: 500, groupRows: 8_000 }, false],
	["a single body", { rows: 1, mean: 9_000_000, groupRows: 1 }, true],
	["no rows", { rows: 0, mean: 0, groupRows: 0 }, false],
])(
	"whether a vector of %s is large",
	(_, { rows, mean, groupRows }, isLarge) => {
		const file = { file: "", rows, bodyBytes: rows * mean, groupRows };
		expect(areLarge([{ file: "" }, file])).toBe(isLarge);
	},
);

test("a file is written by one thread if its rows are long, with the values of their bodies", () => {
	const files = [{ file: "", rows: 10, bodyBytes: 10 * 2_000 }];
	const texts = ["a", "b", "c"].map(
		(name): TableColumn => ({
			name,
			from: { bodyPointer: `/${name}`, type: "String" },
		}),
	);
	expect(areWrittenAlone(files, texts.slice(0, 1))).toBe(false);
	expect(areWrittenAlone(files, texts)).toBe(true);
	expect(areWrittenAlone([{ ...files[0]!, bodyBytes: 10_000 }], texts)).toBe(
		false,
	);
});

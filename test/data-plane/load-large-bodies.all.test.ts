// In make test: ingest/load/load-days.test.ts
import { randomBytes, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { startOfDate } from "../../packages/contracts/utc-date.ts";
import type { ObjectEvent } from "../support/examples/parquet-object.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/** As JSON of many like records: it takes a hundredth of its size on the wire and in the bucket. */
function largeEvents(
	date: string,
	count: number,
	bodyBytes: number,
	tag: string,
): ObjectEvent[] {
	return Array.from({ length: count }, (_, index) => {
		const id = `${date}-${tag}-${String(index).padStart(5, "0")}`;
		const line = `{"id":"${id}","sku":"A-1001","amount":19.99},`;
		const lines = line.repeat(Math.ceil(bodyBytes / line.length));
		return {
			event_id: id,
			timestampMs: startOfDate(date) + index,
			body: `{"items":[${lines}{}]}`,
		};
	});
}

function inObjectsOf<T>(count: number, events: T[]): T[][] {
	const objects: T[][] = [];
	for (let at = 0; at < events.length; at += count)
		objects.push(events.slice(at, at + count));
	return objects;
}

const perDay =
	"select date::text, count(*)::int, count(distinct body)::int, max(strlen(body))::int > 80000 from orders group by date order by date";

test("bodies that don't fit into memory at once are loaded, and so is every Run after them", async () => {
	const { manifest, load, rows } = await loadFixture();
	const first = await manifest({
		"2026-03-01": inObjectsOf(12, largeEvents("2026-03-01", 300, 700_000, "a")),
	});
	const loaded = await load(first, { env: {} });
	expect(loaded.exitCode, loaded.log).toBe(0);
	expect(loaded.result).toMatchObject({ outcome: "Succeeded", rows: 300 });
	expect(await rows(perDay)).toEqual([["2026-03-01", 300, 300, true]]);
	// Nothing else is left in the file, and no group has rows of more than a slice.
	expect(
		await rows(
			"select table_name from duckdb_tables() where schema_name = 'main'",
		),
	).toEqual([["orders"]]);
	expect(
		await rows(
			"select max(c)::int from (select sum(count) as c from pragma_storage_info('orders') where column_name = 'body' and segment_type = 'VARCHAR' group by row_group_id)",
		),
	).toEqual([[12]]);
	const second = await manifest({
		"2026-03-01": [],
		"2026-03-02": inObjectsOf(
			100,
			largeEvents("2026-03-02", 2_600, 82_000, "b"),
		),
	});
	const again = await load(second, { env: {} });
	expect(again.exitCode, again.log).toBe(0);
	expect(await rows(perDay)).toEqual([["2026-03-02", 2_600, 2_600, true]]);
});

test("a table keeps its other days, its columns and what people gave it while a day of large bodies is replaced", async () => {
	const { manifest, load, rows, change } = await loadFixture();
	const days = await manifest({
		"2026-03-01": inObjectsOf(12, largeEvents("2026-03-01", 60, 700_000, "a")),
		"2026-03-02": inObjectsOf(12, largeEvents("2026-03-02", 20, 700_000, "a")),
	});
	expect((await load(days)).exitCode).toBe(0);
	await change(
		"alter table orders add column note varchar default 'none'; comment on column orders.note is 'by hand'; create index by_id on orders(event_id);" +
			// What a Run leaves that was killed.
			' create table "_tidemill staging" (left_over int);' +
			" update orders set note = 'mine' where event_id = '2026-03-01-a-00007'; delete from orders where event_id = '2026-03-01-a-00003'",
	);
	const next = await manifest({
		"2026-03-02": inObjectsOf(12, largeEvents("2026-03-02", 250, 700_000, "b")),
	});
	const again = await load(next, { env: {} });
	expect(again.exitCode, again.log).toBe(0);
	expect(await rows(perDay)).toEqual([
		["2026-03-01", 59, 59, true],
		["2026-03-02", 250, 250, true],
	]);
	expect(
		await rows(
			"select note, count(*)::int from orders group by note order by note",
		),
	).toEqual([
		["mine", 1],
		["none", 308],
	]);
	expect(
		await rows(
			"select comment from duckdb_columns() where table_name = 'orders' and column_name = 'note'",
		),
	).toEqual([["by hand"]]);
	expect(
		await rows(
			"select table_name from duckdb_tables() where schema_name = 'main'",
		),
	).toEqual([["orders"]]);
	expect(await rows("select index_name from duckdb_indexes()")).toEqual([
		["by_id"],
	]);
});

test("a Run adds more large bodies than the table has, and records the day without its rows in memory", async () => {
	const { manifest, load, rows } = await loadFixture();
	const date = "2026-03-01";
	const dayOf = (count: number, tag: string) =>
		manifest({
			[date]: inObjectsOf(12, largeEvents(date, count, 700_000, tag)),
		});
	const input = { adds: true as const };
	const few = await dayOf(36, "a");
	const first = await load(few, { input });
	expect(first.exitCode, first.log).toBe(0);
	const more = await dayOf(288, "b");
	const all = [few, more].map(({ dates }) => dates[0]!);
	const next = {
		...more,
		dates: [
			{
				date,
				rows: 324,
				objects: all.flatMap(({ objects }) => objects),
			},
		],
	};
	const added = await load(next, { input, env: {} });
	expect(added.exitCode, added.log).toBe(0);
	expect(added.result).toMatchObject({ outcome: "Succeeded", addedRows: 288 });
	expect(await rows(perDay)).toEqual([[date, 324, 324, true]]);
	// What was recorded is what the table holds, as another Run finds.
	const later = {
		...next,
		run: randomUUID(),
		snapshotTime: new Date().toISOString(),
	};
	const again = await load(later, { input });
	expect(again.result).toMatchObject({ addedRows: 0, unchangedDates: 1 });
	expect(again.result).not.toHaveProperty("repairedDates");
});

test("they are loaded into BigQuery, too", async () => {
	const { manifest, load, rows } = await bigQueryFixture();
	const day = await manifest({
		"2026-03-01": inObjectsOf(12, largeEvents("2026-03-01", 400, 700_000, "a")),
	});
	const loaded = await load(day, { env: {} });
	expect(loaded.exitCode, loaded.log).toBe(0);
	expect(
		await rows(
			"select count(*)::int, count(distinct body)::int from shop.orders",
		),
	).toEqual([[400, 400]]);
});

test.each([
	["DuckDB", loadFixture, "orders"],
	["BigQuery", bigQueryFixture, "shop.orders"],
] as const)(
	"a column's values of bodies in groups of many rows are loaded into %s",
	async (_type, fixture, table) => {
		const { manifest, load, rows } = await fixture();
		const date = "2026-03-01";
		const objects = ["a", "b"].map((tag) =>
			Array.from({ length: 7_500 }, (_, index) => ({
				event_id: `${tag}-${index}`,
				timestampMs: startOfDate(date) + index,
				body: JSON.stringify({ tag: randomBytes(3_072).toString("base64") }),
			})),
		);
		const from = { bodyPointer: "/tag", type: "String" } as const;
		const loaded = await load(await manifest({ [date]: objects }), {
			input: {
				table: {
					name: "orders",
					columns: [...columns, { name: "tag", from }],
					description: "",
				},
			},
			env: {},
		});
		expect(loaded.exitCode, loaded.log).toBe(0);
		expect(await rows(`select count(distinct tag)::int from ${table}`)).toEqual(
			[[15_000]],
		);
	},
);

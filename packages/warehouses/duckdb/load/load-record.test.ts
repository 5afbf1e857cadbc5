import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TableColumn } from "../../../contracts/job.ts";
import { quoteText } from "../../../duckdb/quoting.ts";
import { Session } from "../../../duckdb/session.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import { digestSql, WrittenRows } from "./load-record.ts";
import { definitions, insertion } from "./staged-table.ts";

const of = (name: string, type: string, more = {}): TableColumn => ({
	name,
	from: { bodyPointer: `/${name}`, type, ...more } as TableColumn["from"],
});

const columns: TableColumn[] = [
	{ name: "event_id", from: "EventID" },
	{ name: "timestamp", from: "Timestamp" },
	{ name: "day", from: "Date" },
	{ name: "body", from: "Body" },
	{ name: "violations", from: "Violations" },
	{ name: "loaded", from: "LoadedAt", value: "2026-03-01T00:00:00Z" },
	{ name: "run", from: "Run", value: "r" },
	{ name: "kind", from: { header: "kind" } },
	of("text", "String"),
	of("whole", "Integer"),
	of("number", "Number"),
	of("flag", "Boolean"),
	of("at", "Timestamp"),
	of("on", "Date"),
	of("json", "JSON"),
	of("price", "Decimal", { precision: 38, scale: 9 }),
];

test("the digests that are added up while rows are written are those of the table's rows, of each date and whatever its values", async () => {
	const directory = await mkdtemp(join(tmpdir(), "digest-"));
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		defineBodyValues(session);
		await session.run("SET TimeZone = 'UTC'");
		const file = join(directory, "events.parquet");
		const body = `'{"text":"ä' || i || '","whole":' || i || ',"number":-0.0,"flag":true,"at":"2026-03-01T00:00:00.5Z","on":"2026-02-28","json":{"a":[' || i || ']},"price":1.5}'`;
		await session.run(
			`COPY (SELECT uuidv7() AS event_id, now() AS timestamp, DATE '2026-03-01' + (i % 3)::INTEGER AS date,` +
				` CASE WHEN i % 7 = 0 THEN '{"number":"no"}' ELSE ${body} END AS body, '{"kind":"k"}' AS headers, NULL::VARCHAR AS violations, 'json' AS kind` +
				` FROM range(9000) t(i)) TO ${quoteText(file)} (FORMAT parquet)`,
		);
		await session.run(`CREATE TABLE events (${definitions(columns)})`);
		const written = new WrittenRows(session);
		const insert = () =>
			session.run(insertion("events", [{ file }], columns, written));
		const found = async () => {
			const rows = await session.rows<{ date: string; digest: string }>(
				`SELECT day::VARCHAR AS date, ${digestSql(columns)} AS digest FROM events GROUP BY ALL`,
			);
			return new Map(rows.map(({ date, digest }) => [date, BigInt(digest)]));
		};
		expect(await insert()).toBe(9_000);
		expect(await found()).toEqual(written.digests);
		expect([...written.digests.keys()].sort()).toEqual([
			"2026-03-01",
			"2026-03-02",
			"2026-03-03",
		]);
		await insert();
		expect(await found()).toEqual(written.digests);
		await session.run("UPDATE events SET whole = 1 WHERE whole = 5");
		expect(await found()).not.toEqual(written.digests);
		expect(new WrittenRows(session).digests).toEqual(new Map());
	} finally {
		session.close();
		await rm(directory, { recursive: true });
	}
});

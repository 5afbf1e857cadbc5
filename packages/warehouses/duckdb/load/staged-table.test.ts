import { expect, test } from "vitest";
import { columnSql } from "../../load/columns.ts";
import { insertion, rowCount, statements } from "./staged-table.ts";

test("names and texts are quoted, whatever they contain", () => {
	expect(
		statements('a"; DROP TABLE b; --', {
			do: "CreateTable",
			columns: [{ name: 'x"y', from: { header: "x-y" } }],
		}),
	).toEqual(['CREATE TABLE "a""; DROP TABLE b; --" ("x""y" VARCHAR)']);
	expect(statements("t", { do: "Comment", text: "it's" })).toEqual([
		`COMMENT ON TABLE "t" IS 'it''s'`,
	]);
});

test("days are inserted by column name from their files", () => {
	const header = columnSql({ name: "header_x", from: { header: "x" } });
	expect(
		insertion(
			"t",
			[{ file: "/s/1.parquet" }, { file: "/s/o'2.parquet" }],
			[
				{ name: "event_id", from: "EventID" },
				{ name: "header_x", from: { header: "x" } },
			],
		),
	).toBe(
		`INSERT INTO "t" ("event_id", "header_x") SELECT event_id::VARCHAR, ${header.expression}` +
			` FROM read_parquet(['/s/1.parquet', '/s/o''2.parquet'])`,
	);
});

test("a day's rows are counted, and those with the ids of events in files", () => {
	const date = "2026-03-01";
	expect(rowCount("t", { do: "CheckRows", date, rows: 1 })).toBe(
		`SELECT count(*) AS rows FROM "t" WHERE "date" = DATE '2026-03-01'`,
	);
	expect(
		rowCount("t", { do: "CheckNew", date, eventID: "id", files: ["/s/1"] }),
	).toBe(
		`SELECT count(*) AS rows FROM "t" WHERE "date" = DATE '2026-03-01' AND "id" IN (SELECT event_id::VARCHAR FROM read_parquet(['/s/1']))`,
	);
});

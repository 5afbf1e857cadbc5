import { expect, test } from "vitest";
import { quoteText } from "../packages/duckdb/quoting.ts";
import { Session } from "../packages/duckdb/session.ts";
import {
	listBodies,
	listRows,
	listRowsOf,
	listView,
	memberBodies,
	memberRows,
	memberView,
} from "./support/examples/list-views.ts";

const values = Object.entries(listBodies)
	.map(([id, body]) => `(${quoteText(id)}, now(), ${quoteText(body)})`)
	.join(", ");

test("in DuckDB, a list of events has a row for each element, and an empty one has one", async () => {
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		// A body that DuckDB can't read is a row, too, and stops no other.
		const odd = `('odd', now(), '[{"a":"\\ud83c"}]')`;
		await session.run(
			`CREATE TABLE sendgrid AS SELECT * FROM (VALUES ${values}, ${odd}) AS t(event_id, "timestamp", body)`,
		);
		await session.run(listView("DuckDB"));
		const rows = await session.rows(
			"SELECT event_id, index, element::VARCHAR AS element FROM sendgrid_elements WHERE timestamp IS NOT NULL",
		);
		const found = listRowsOf(rows.map((row) => Object.values(row)));
		const isOdd = ([id]: unknown[]) => id === "odd";
		expect(found.filter((row) => !isOdd(row))).toEqual(listRows);
		expect(found.filter(isOdd)).toEqual([["odd", null, null]]);
	} finally {
		session.close();
	}
});

test("in DuckDB, a list in a member of the body has a row for each element, too", async () => {
	const session = await Session.inMemory({}, new AbortController().signal);
	try {
		const values = Object.entries(memberBodies).map(
			([id, body]) => `(${quoteText(id)}, now(), ${quoteText(body)})`,
		);
		await session.run(
			`CREATE TABLE meta AS SELECT * FROM (VALUES ${values.join(", ")}) AS t(event_id, "timestamp", body)`,
		);
		await session.run(memberView("DuckDB"));
		const rows = await session.rows(
			"SELECT event_id, index, element::VARCHAR AS element FROM meta_elements",
		);
		expect(listRowsOf(rows.map((row) => Object.values(row)))).toEqual(
			memberRows,
		);
	} finally {
		session.close();
	}
});

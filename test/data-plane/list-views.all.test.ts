// In make test: test/list-views.test.ts
import { afterAll, beforeAll, expect, test } from "vitest";
import { quoteText } from "../../packages/duckdb/quoting.ts";
import { Session } from "../../packages/duckdb/session.ts";
import {
	listBodies,
	listRows,
	listRowsOf,
	listView,
	memberBodies,
	memberRows,
	memberView,
} from "../support/examples/list-views.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import {
	done,
	hasPython,
	pythonEnvironment,
} from "../support/servers/python.ts";

/* The views of lists in the languages of the other warehouses. BigQuery's is read by sqlglot's parser, and run as what that makes of it. */

const isHere = await hasPython();
let postgres: PostgresServer;
let clickHouse: ClickHouseServer | undefined;
beforeAll(async () => {
	postgres = await startPostgres();
	if (isHere) clickHouse = await startClickHouse();
});
afterAll(async () => {
	await postgres?.stop();
	await clickHouse?.stop();
});

/** A list that is the body, and one in a member of it. */
const cases = [
	["a list of events", "sendgrid", listView, listBodies, listRows],
	["a list in a member", "meta", memberView, memberBodies, memberRows],
] as const;
const queryOf = (table: string) =>
	`SELECT event_id, index, element FROM ${table}_elements`;
const valuesOf = (bodies: Record<string, string>) =>
	Object.entries(bodies)
		.map(([id, body]) => `(${quoteText(id)}, now(), ${quoteText(body)})`)
		.join(", ");

test.each(cases)(
	"in Postgres, %s has a row for each element, and an empty one has one",
	async (_, table, view, bodies, expected) => {
		await postgres.rows(
			`CREATE TABLE ${table} AS SELECT * FROM (VALUES ${valuesOf(bodies)}) AS t (event_id, timestamp, body)`,
		);
		await postgres.rows(view("Postgres"));
		const rows = await postgres.rows(
			queryOf(table).replace("element", "element::text AS element"),
		);
		expect(listRowsOf(rows)).toEqual(expected);
	},
);

test.runIf(isHere).each(cases)(
	"in ClickHouse, %s has a row for each element, and an empty one has one",
	async (_, table, view, bodies, expected) => {
		const server = clickHouse!;
		await server.rows(
			`CREATE TABLE ${table} (event_id String, timestamp DateTime64(6, 'UTC'), body String) ENGINE = MergeTree ORDER BY event_id`,
		);
		const lines = Object.entries(bodies).map(([event_id, body]) =>
			JSON.stringify({ event_id, timestamp: "2026-03-01 12:00:00", body }),
		);
		await server.rows(
			`INSERT INTO ${table} FORMAT JSONEachRow ${lines.join("\n")}`,
		);
		await server.rows(view("ClickHouse"));
		expect(listRowsOf(await server.rows(queryOf(table)))).toEqual(expected);
	},
);

test.runIf(isHere).each(cases)(
	"in BigQuery, %s has a row for each element, and an empty one has one",
	async (_, table, viewOf, bodies, expected) => {
		const bin = await pythonEnvironment("sqlglot-30.30.0", [
			"sqlglot==30.30.0",
		]);
		const program =
			"import sys, sqlglot; print(sqlglot.transpile(sys.argv[1], read='bigquery', write='duckdb')[0])";
		const view = await done(`${bin}/python`, [
			...["-c", program],
			viewOf("BigQuery"),
		]);
		const session = await Session.inMemory({}, new AbortController().signal);
		try {
			await session.run("CREATE SCHEMA events; USE events");
			await session.run(
				`CREATE TABLE ${table} AS SELECT * FROM (VALUES ${valuesOf(bodies)}) AS t(event_id, "timestamp", body)`,
			);
			// cloud.google.com/bigquery/docs/reference/standard-sql/json_functions: of what is no array, JSON_QUERY_ARRAY makes NULL.
			await session.run(view.replace("UNNEST(CAST(", "UNNEST(TRY_CAST("));
			const rows = await session.rows(
				// OFFSET counts from 0, and DuckDB's ORDINALITY from 1.
				queryOf(table)
					.replace("index", "index - 1 AS index")
					.replace("element", "element::VARCHAR AS element"),
			);
			expect(listRowsOf(rows.map((row) => Object.values(row)))).toEqual(
				expected,
			);
		} finally {
			session.close();
		}
	},
);

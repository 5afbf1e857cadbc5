// In make test: test/documented-queries.test.ts
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { quoteText } from "../../packages/duckdb/quoting.ts";
import { documented, documentedText } from "../support/examples/documented.ts";
import { exceptions } from "../support/examples/documented-exceptions.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { hasPython } from "../support/servers/python.ts";

/* SQL of pages and examples, word for word in the warehouse that it is for. */

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

test("in Postgres the page's role makes tables in its schema, and those who read have them", async () => {
	await postgres.rows("CREATE DATABASE analytics");
	await postgres.rows("CREATE ROLE analysts LOGIN PASSWORD 'analysts'");
	await postgres.rows(
		documentedText("docs/postgres.md#set-it-up sql"),
		"analytics",
	);
	const as = async (user: string, password: string) => {
		const client = await postgres.connect("analytics", user, password);
		onTestFinished(() => client.end());
		return client;
	};
	const tidemill = await as("tidemill", "<password>");
	await tidemill.query("CREATE TABLE webhooks.orders AS SELECT 1 AS n");
	const analyst = await as("analysts", "analysts");
	const { rows } = await analyst.query("SELECT n FROM webhooks.orders");
	expect(rows).toEqual([{ n: "1" }]);
	await expect(analyst.query("DELETE FROM webhooks.orders")).rejects.toThrow(
		"permission denied",
	);
});

test.runIf(isHere)(
	"in ClickHouse the example's query shows who wrote last",
	async () => {
		await clickHouse!.rows(
			"CREATE TABLE feedback_latest (email Nullable(String), message String, timestamp DateTime64(6, 'UTC')) ENGINE = Memory",
		);
		await clickHouse!.rows(
			"INSERT INTO feedback_latest VALUES ('a@example.com', 'one', 1), ('b@example.com', 'two', 2), (NULL, 'none', 3)",
		);
		expect(
			await clickHouse!.rows(documentedText("examples/clickhouse/query.sql")),
		).toEqual([
			["b@example.com", "two"],
			["a@example.com", "one"],
		]);
	},
);

test.runIf(isHere)("what ClickHouse can't run here it can read", async () => {
	const statements = exceptions
		.flatMap(({ at }) => documented(at))
		.filter(({ language }) => language === "sql")
		.flatMap(({ text }) => text.trim().split(/;\n?/).filter(Boolean));
	expect(statements.length).toBeGreaterThan(2);
	for (const statement of statements)
		await clickHouse!.rows(`SELECT formatQuery(${quoteText(statement)})`);
});

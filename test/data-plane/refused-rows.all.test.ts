// In make test: test/promises/you-are-told.laptop.test.ts
import { randomUUID } from "node:crypto";
import {
	afterAll,
	afterEach,
	beforeAll,
	describe,
	expect,
	test,
	vi,
} from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { clickHouseFixture } from "../support/fixtures/data-plane/clickhouse-fixture.ts";
import {
	columns,
	type LoadEnd,
	type LoadFixture,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresFixture } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	type ClickHouseServer,
	startClickHouse,
} from "../support/servers/clickhouse/server.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { hasPython } from "../support/servers/python.ts";

/*
 * Whatever refuses a row, what a Run leaves has no value of it: neither its result, which is the status, the Event and the
 * notification, nor a line of its log.
 */

const mark = "MARKED-7f3a";
const day = "2026-03-01";
const table: LoadInput["table"] = {
	name: "orders",
	description: "Events of shop",
	columns: [
		...columns,
		{ name: "email", from: { bodyPointer: "/email", type: "String" } },
	],
};

/** Two events of one person, of which one lacks the address. */
const events = (email: string) =>
	[{ email }, { email, again: true }, { name: email }].map((body, index) => ({
		event_id: randomUUID(),
		timestampMs: Date.parse(day) + index,
		body: JSON.stringify(body),
	}));

/** A table with a day of another person, to which somebody adds what refuses rows; then a Run brings the marked ones. */
async function refusal(
	{ manifest, load }: Pick<LoadFixture, "manifest" | "load">,
	byHand: () => Promise<unknown>,
) {
	const before = await manifest({ [day]: [events("a").slice(0, 1)] });
	const { exitCode, log } = await load(before, { input: { table } });
	expect(exitCode, log).toBe(0);
	await byHand();
	const next = await manifest({ [day]: [events(mark)] });
	return failed(await load(next, { input: { table } }));
}

function failed({ result, log, exitCode }: LoadEnd) {
	if (result?.outcome !== "Failed") throw new Error(`exit ${exitCode}: ${log}`);
	expect(JSON.stringify(result) + log).not.toContain("MARKED");
	expect(exitCode, log).toBe(65);
	return result.error;
}

describe("Postgres", () => {
	let server: PostgresServer;
	beforeAll(async () => {
		server = await startPostgres();
	});
	afterAll(() => server?.stop());
	afterEach(() => void vi.unstubAllEnvs());

	const raising = (how: string) =>
		`CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${how} END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION public.refuse()`;
	const alter = (what: string) => `ALTER TABLE webhooks.orders ${what}`;

	test.each([
		[
			"a CHECK",
			alter("ADD CONSTRAINT short CHECK (length(body) < 20)"),
			'rows by constraint "short" in table "orders_p20260301" (SQLSTATE 23514)',
		],
		[
			"NOT NULL",
			alter("ALTER COLUMN email SET NOT NULL"),
			'rows in column "email" of table "orders_p20260301" (SQLSTATE 23502)',
		],
		[
			"UNIQUE",
			alter("ADD CONSTRAINT once UNIQUE (date, email)"),
			/rows by constraint "[^"]+" in table "orders_p20260301" \(SQLSTATE 23505\)/,
		],
		[
			"a foreign key",
			`CREATE TABLE webhooks.people (email text PRIMARY KEY); INSERT INTO webhooks.people VALUES ('a'); GRANT REFERENCES, SELECT ON webhooks.people TO PUBLIC;
			${alter("ADD CONSTRAINT known FOREIGN KEY (email) REFERENCES webhooks.people")}`,
			/rows by constraint "known" in table "orders_p20260301" \(SQLSTATE 23503\)/,
		],
		[
			"EXCLUDE",
			alter(
				"ADD CONSTRAINT apart EXCLUDE USING btree (date WITH =, email WITH =)",
			),
			/rows by constraint "[^"]+" in table "orders_p20260301" \(SQLSTATE 23P01\)/,
		],
		[
			"a domain",
			`CREATE DOMAIN webhooks.mail AS text CONSTRAINT plain CHECK (VALUE NOT LIKE 'M%'); ${alter("ADD COLUMN mail webhooks.mail GENERATED ALWAYS AS (email::webhooks.mail) STORED")}`,
			'rows by constraint "plain" (SQLSTATE 23514)',
		],
		[
			"a generated column",
			alter(
				"ADD COLUMN size int GENERATED ALWAYS AS (CASE WHEN email <> 'a' THEN email::int END) STORED",
			),
			"rows (SQLSTATE 22P02)",
		],
		[
			"a trigger",
			raising(
				"RAISE EXCEPTION 'no %', NEW.email USING DETAIL = NEW.body, HINT = NEW.body;",
			),
			"rows (SQLSTATE P0001, in a function or a trigger)",
		],
		[
			"a trigger that calls itself a right, and a value a name",
			raising(
				// Of one row the email is NULL, which RAISE refuses, and rows come in any order.
				"RAISE insufficient_privilege USING MESSAGE = NEW.body, COLUMN = NEW.body, CONSTRAINT = NEW.body, TABLE = NEW.body, DATATYPE = NEW.body;",
			),
			"rows (SQLSTATE 42501, in a function or a trigger)",
		],
		[
			"a conversion in a trigger",
			raising("PERFORM NEW.email::int; RETURN NEW;"),
			"rows (SQLSTATE 22P02, in a function or a trigger)",
		],
		[
			"another table, to which a trigger copies",
			`CREATE TABLE webhooks.audit (email text CHECK (email = 'a')); GRANT ALL ON webhooks.audit TO PUBLIC; ${raising("EXECUTE format('INSERT INTO webhooks.audit VALUES (%L)', NEW.email); RETURN NEW;")}`,
			"rows (SQLSTATE 23514, in a function or a trigger)",
		],
	] as [string, string, string | RegExp][])("%s", async (_, sql, words) => {
		const fixture = await postgresFixture(server);
		const error = await refusal(fixture, () => fixture.sql(sql));
		expect(error.message).toMatch(words);
		const [record] = await fixture.sql(
			"SELECT json_agg(l)::text || (SELECT string_agg(obj_description(oid), '') FROM pg_class) FROM webhooks._tidemill_loads l",
		);
		expect(String(record)).not.toContain("MARKED");
	});

	test("an Erase that a trigger refuses", async () => {
		const { manifest, load, sql } = await postgresFixture(server);
		const before = await manifest({ [day]: [events(mark)] });
		await load(before, { input: { table } });
		await sql(
			`CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no %', OLD.email; END $$;
			CREATE TRIGGER refuse BEFORE DELETE ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION public.refuse()`,
		);
		const match = { bodyPointer: "/email", equals: mark };
		const next: Manifest = {
			...(await manifest({ "2026-03-03": [] })),
			erasures: {
				asked: 1,
				others: [{ mode: "RemoveRow", before: "2026-03-02", match }],
			},
		};
		const end = await load(next, { input: { table } });
		expect(failed(end).message).toContain("P0001");
	});

	test("a check that an event trigger refuses", async () => {
		const { destination, env, sql } = await postgresFixture(server);
		await sql(
			`CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE '${mark}'; END $$;
			CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION public.refuse()`,
		);
		const end = await checkDestination(destination, env);
		await sql("DROP EVENT TRIGGER refuse");
		expect(failed(end).message).toContain("P0001");
	});
});

describe("DuckDB", () => {
	const again = (definition: string) => [
		"ALTER TABLE orders RENAME TO former",
		`CREATE TABLE orders (event_id VARCHAR, timestamp TIMESTAMPTZ, body VARCHAR, date DATE, email VARCHAR${definition})`,
		"INSERT INTO orders SELECT * FROM former",
		"DROP TABLE former",
	];
	test.each([
		[
			"a UNIQUE index",
			["CREATE UNIQUE INDEX once ON orders (email)"],
			'rows by constraint "',
			"(DuckDB's ",
		],
		["UNIQUE", again(" UNIQUE"), 'rows by constraint "', "(DuckDB's "],
		[
			"NOT NULL",
			["ALTER TABLE orders ALTER COLUMN email SET NOT NULL"],
			'rows by constraint "NOT NULL" in column "email" of table "orders"',
		],
		[
			"a CHECK",
			again(" CHECK (email = 'a')"),
			'rows by constraint "CHECK" in table "orders"',
		],
		[
			"a CHECK that converts",
			again(
				" CHECK (CASE WHEN email = 'a' THEN true ELSE email::INTEGER > 0 END)",
			),
			"(DuckDB's Con",
		],
	])("%s", async (constraint, sql, ...words) => {
		const fixture = await loadFixture();
		const error = await refusal(fixture, async () => {
			const [[comment] = []] = await fixture.rows(
				"SELECT comment FROM duckdb_tables() WHERE table_name = 'orders'",
			);
			for (const one of [
				...sql,
				`COMMENT ON TABLE orders IS '${String(comment).replaceAll("'", "''")}'`,
			])
				await fixture.change(one);
		});
		expect(error.code).toBe(
			constraint.includes("UNIQUE") ? "RowsNotUnique" : "RowsRefused",
		);
		for (const one of words) expect(error.message).toContain(one);
		const record = await fixture.rows("SELECT * FROM _tidemill.loads");
		expect(JSON.stringify(record)).not.toContain("MARKED");
	});
});

const isHere = await hasPython();
describe.skipIf(!isHere)("ClickHouse", () => {
	let server: ClickHouseServer;
	beforeAll(async () => {
		server = await startClickHouse();
	});
	afterAll(() => server?.stop());

	test.each([
		[
			"a CONSTRAINT",
			"ALTER TABLE orders ADD CONSTRAINT short CHECK length(body) < 20",
			/rows by constraint "short" in table "[^"]+" \(code 469, VIOLATED_CONSTRAINT\)/,
		],
		[
			"a materialized column",
			"ALTER TABLE orders ADD COLUMN size Int32 MATERIALIZED if(ifNull(email, 'a') = 'a', 0, toInt32(ifNull(email, '0')))",
			/rows \(code \d+, CANNOT_PARSE_TEXT\)/,
		],
		[
			"a column that throws",
			"ALTER TABLE orders ADD COLUMN size UInt8 MATERIALIZED throwIf(email != 'a', 'MARKED') ",
			/rows \(code 395, FUNCTION_THROW_IF_VALUE_IS_NON_ZERO\)/,
		],
	] as const)("%s", async (_, sql, words) => {
		const fixture = await clickHouseFixture(server);
		const load: LoadFixture["load"] = (manifest, { input } = {}) =>
			fixture.load(manifest, input);
		const error = await refusal({ ...fixture, load }, () => fixture.rows(sql));
		expect(error.code).toBe("RowsRefused");
		expect(error.message).toMatch(words);
		const { database } = fixture;
		const record = await fixture.rows(
			`SELECT * FROM ${database}.\`_tidemill-loads\``,
		);
		expect(record.length).toBeGreaterThan(0);
		expect(JSON.stringify(record)).not.toContain("MARKED");
	});
});

describe("BigQuery", () => {
	test.each([
		"Error while reading data, error message: JSON parsing error in row starting at position 0: Could not parse 'MARKED' as INT64 for field n",
		"Row size is larger than: 104857600. Row: MARKED",
	])("a job that fails: %s", async (message) => {
		const fixture = await bigQueryFixture();
		const error = await refusal(fixture, async () =>
			fixture.double.jobs.failNext("invalid", message),
		);
		expect(error.message).toMatch(
			/refused to load table orders \(invalid\)\. BigQuery tells more of its job \S+\./,
		);
	});
});

// In make test: test/data-plane/warehouses/postgres.laptop.test.ts
import { expect, onTestFinished, test, vi } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import { columns } from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresBeside } from "../support/fixtures/data-plane/postgres-beside.ts";
import { postgresOfFile } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	isDebiansPostgresHere,
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";

/* What people add to a table, and what Runs do with it: the rows of the table in the docs. */

const server = postgresOfFile();

const [first, second] = ["2026-03-01", "2026-03-02"] as const;
const sceneOf = (on = server()) => postgresBeside(on);

test("a check of a database that isn't UTF-8 says so", async () => {
	const { destination, env, database, user } = await sceneOf();
	await server().rows(
		`CREATE DATABASE ${database}_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`,
	);
	await server().rows(
		`CREATE SCHEMA webhooks; GRANT USAGE, CREATE ON SCHEMA webhooks TO ${user}`,
		`${database}_latin`,
	);
	const latin = { ...destination, database: `${database}_latin` };
	const { result } = await checkDestination(latin, env);
	expect(result).toMatchObject({
		error: {
			code: "EncodingUnsupported",
			message: expect.stringContaining("LATIN1"),
		},
	});
});

test("a table with monthly partitions is not adopted, and no row of it changes; a month before the Run's days is nobody's business", async () => {
	const { daysOf, load, loaded, sql, user } = await sceneOf();
	await sql(
		`CREATE TABLE webhooks.orders (event_id text, timestamp timestamptz, body text, date date) PARTITION BY RANGE (date);
		CREATE TABLE webhooks.orders_march PARTITION OF webhooks.orders FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
		INSERT INTO webhooks.orders VALUES ('mine', now(), '{}', '${second}');
		ALTER TABLE webhooks.orders OWNER TO ${user}; ALTER TABLE webhooks.orders_march OWNER TO ${user}`,
	);
	// The day with the row is one without events.
	const days = await daysOf({ [first]: 0, [second]: 0 });
	const end = await load(days, { input: { adopt: true } });
	expect(end.result).toMatchObject({
		error: {
			code: "TableIncompatible",
			message: expect.stringContaining('its partition "orders_march"'),
		},
	});
	expect(await sql("SELECT event_id FROM webhooks.orders")).toEqual([["mine"]]);
	await sql(
		`DROP TABLE webhooks.orders_march;
		CREATE TABLE webhooks.former PARTITION OF webhooks.orders FOR VALUES FROM (MINVALUE) TO ('2026-02-01');
		ALTER TABLE webhooks.former OWNER TO ${user}`,
	);
	await loaded(await daysOf({ [first]: 2, [second]: 1 }), { adopt: true });
	expect(await sql("SELECT count(*) FROM webhooks.orders")).toEqual([["3"]]);
});

/** Of the table's partitions, and of what Tidemill records. */
const guardsOf = `SELECT relname, relreplident, relrowsecurity, relforcerowsecurity FROM pg_class
	WHERE relname ~ '^orders_p[0-9]+$' OR relname = '_tidemill_loads' ORDER BY 1 DESC`;

test.each([
	["of whole rows", "REPLICA IDENTITY FULL", "f"],
	[
		"of an index",
		"ALTER event_id SET NOT NULL, ALTER date SET NOT NULL, ADD CONSTRAINT once UNIQUE (event_id, date); ALTER TABLE webhooks.orders REPLICA IDENTITY USING INDEX once",
		"i",
	],
])(
	"a table in a publication, with a replica identity %s, is loaded on: days are replaced and come",
	async (_, change, identity) => {
		const { daysOf, loaded, sql } = await sceneOf();
		await loaded(await daysOf({ [first]: 3 }));
		await sql(
			`ALTER TABLE webhooks.orders ${change}; CREATE PUBLICATION everything FOR ALL TABLES WITH (publish_via_partition_root = true)`,
		);
		for (const rows of [2, 4]) {
			await loaded(await daysOf({ [first]: rows, [second]: rows }, "b"));
			expect(await sql("SELECT count(*) FROM webhooks.orders")).toEqual([
				[String(2 * rows)],
			]);
		}
		expect(await sql(guardsOf)).toEqual([
			["orders_p20260302", identity, "f", "f"],
			["orders_p20260301", identity, "f", "f"],
			["_tidemill_loads", "f", "f", "f"],
		]);
	},
);

test("a new day comes into its table by INSERT, and not as a table that is attached with its rows", async () => {
	const { daysOf, loaded, sql } = await sceneOf();
	await loaded(await daysOf({ [first]: 1 }));
	await sql(
		`CREATE TABLE webhooks.came (name text, attached bool); ALTER TABLE webhooks.came OWNER TO CURRENT_USER; GRANT INSERT ON webhooks.came TO PUBLIC;
		CREATE FUNCTION webhooks.come() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO webhooks.came SELECT relname, relispartition FROM pg_class WHERE oid = TG_RELID; RETURN new; END $$;
		CREATE TRIGGER come BEFORE INSERT ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION webhooks.come()`,
	);
	await loaded(await daysOf({ [first]: 1, [second]: 1 }, "b"));
	expect(await sql("SELECT * FROM webhooks.came ORDER BY 1")).toEqual([
		["orders_p20260301", "t"],
		["orders_p20260302", "t"],
	]);
});

test("partitions of a table with row security have it, too, without FORCE and policies, and Runs go on", async () => {
	const { daysOf, loaded, sql, database } = await sceneOf();
	await loaded(await daysOf({ [first]: 3 }));
	await sql(
		`CREATE ROLE viewer_${database}; GRANT USAGE ON SCHEMA webhooks TO viewer_${database};
		ALTER TABLE webhooks.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
		CREATE POLICY everything ON webhooks.orders USING (true);
		GRANT SELECT ON ALL TABLES IN SCHEMA webhooks TO viewer_${database}`,
	);
	await loaded(await daysOf({ [first]: 2, [second]: 2 }, "b"));
	expect((await sql(guardsOf)).slice(0, 2)).toEqual([
		["orders_p20260302", "d", "t", "f"],
		["orders_p20260301", "d", "t", "f"],
	]);
	await loaded(await daysOf({ [first]: 5, [second]: 1 }, "c"));
	expect(
		await sql(
			`SET ROLE viewer_${database}; SELECT (SELECT count(*) FROM webhooks.orders), (SELECT count(*) FROM webhooks.orders_p20260301)`,
		),
	).toEqual([["6", "0"]]);
});

const withNumbers = (user: string) =>
	`CREATE TABLE webhooks.orders (event_id text, timestamp timestamptz, body text, date date, number bigint GENERATED ALWAYS AS IDENTITY) PARTITION BY RANGE (date);
	ALTER TABLE webhooks.orders OWNER TO ${user}`;

const numbered = async (on: PostgresServer) => {
	const { daysOf, loaded, sql, user } = await sceneOf(on);
	await sql(withNumbers(user));
	for (const rows of [2, 4])
		await loaded(await daysOf({ [first]: rows, [second]: rows }));
	expect(
		await sql("SELECT count(*), count(DISTINCT number) FROM webhooks.orders"),
	).toEqual([["8", "8"]]);
};

test("an identity column numbers the rows that Runs load", () =>
	numbered(server()));

test.skipIf(!isDebiansPostgresHere)(
	"it does so in Postgres 15, whose partitions inherit none",
	async () => {
		const older = await startPostgres({ version: "Debian's" });
		onTestFinished(() => older.stop());
		await numbered(older);
	},
);

test("an Erase goes on beside a publication, row security, an identity column and who reads, and gives partitions first what they lack", async () => {
	const { daysOf, erasure, loaded, sql, client, user } = await sceneOf();
	await sql(withNumbers(user));
	await loaded(await daysOf({ [first]: 3, [second]: 3 }));
	await sql(
		`ALTER TABLE webhooks.orders REPLICA IDENTITY FULL, ENABLE ROW LEVEL SECURITY;
		CREATE POLICY everything ON webhooks.orders USING (true); CREATE PUBLICATION everything FOR TABLE webhooks.orders`,
	);
	const erase = async (index: number) => {
		const eventIDs = [first, second].map((date) => `${date}-a-${index}`);
		await loaded(await erasure({ eventIDs }));
		return (await sql("SELECT count(*) FROM webhooks.orders")).flat();
	};
	expect(await erase(0)).toEqual(["4"]);
	expect((await sql(guardsOf)).slice(0, 2)).toEqual([
		["orders_p20260302", "f", "t", "f"],
		["orders_p20260301", "f", "t", "f"],
	]);
	const reader = await client();
	await reader.query("BEGIN");
	await reader.query("SELECT count(*) FROM webhooks.orders");
	expect(await erase(1)).toEqual(["2"]);
});

test("a rebuild is refused while a publication names the table, or it has a policy", async () => {
	const { daysOf, load, loaded, sql } = await sceneOf();
	const days = await daysOf({ [first]: 1 });
	await loaded(days);
	await sql(
		`ALTER TABLE webhooks.orders ALTER event_id TYPE bytea USING event_id::bytea;
		CREATE POLICY everything ON webhooks.orders USING (true); CREATE PUBLICATION named FOR TABLE webhooks.orders`,
	);
	const { result } = await load(days, { input: { rebuild: true } });
	expect(result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringMatching(/policy everything, publication named/),
		},
	});
});

const soon = { timeout: 60_000, interval: 20 };

test("while a Run waits for who reads its table, to add a column, Runs of other tables in the schema go on", async () => {
	const { daysOf, loaded, sql, client } = await sceneOf();
	await loaded(await daysOf({ [first]: 3 }));
	const long = await client();
	await long.query("BEGIN");
	await long.query("SELECT count(*) FROM webhooks.orders");
	const tableOf = (name: string, more: LoadInput["table"]["columns"] = []) => ({
		table: { name, description: "", columns: [...columns, ...more] },
	});
	const waiting = loaded(
		await daysOf({ [first]: 5 }),
		tableOf("orders", [
			{ name: "index", from: { bodyPointer: "/index", type: "Integer" } },
		]),
	);
	await vi.waitFor(async () => {
		const found = await sql(
			"SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'",
		);
		expect(found).toHaveLength(1);
	}, soon);
	for (const name of ["second", "third"])
		await loaded(await daysOf({ [first]: 2 }), tableOf(name));
	await long.query("COMMIT");
	await waiting;
	expect(
		await sql(
			"SELECT (SELECT count(index) FROM webhooks.orders), (SELECT count(*) FROM webhooks.second), (SELECT count(*) FROM webhooks.third)",
		),
	).toEqual([["5", "2", "2"]]);
});

/** A Run waits for a lock no half minute. */
const hurry = `CREATE FUNCTION webhooks.hurry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('lock_timeout', '100ms', true); RETURN NULL; END $$;
	CREATE TRIGGER hurry BEFORE DELETE ON webhooks.orders_p20260301 FOR EACH STATEMENT EXECUTE FUNCTION webhooks.hurry()`;

test("who holds a lock that a Run waits for in vain is named, with the table", async () => {
	const { daysOf, load, loaded, sql, client } = await sceneOf();
	await loaded(await daysOf({ [first]: 3 }));
	await sql(hurry);
	const long = await client();
	await long.query("BEGIN");
	await long.query("SELECT * FROM webhooks.orders FOR UPDATE");
	const { rows } = await long.query("SELECT pg_backend_pid() AS pid");
	const { result } = await load(await daysOf({ [first]: 5 }, "b"));
	expect(result).toMatchObject({
		error: {
			code: "PostgresBusy",
			message: expect.stringMatching(
				new RegExp(
					`Locks are held by process ${rows[0].pid} of "postgres".* on webhooks.orders`,
				),
			),
		},
	});
	await long.query("ROLLBACK");
	await loaded(await daysOf({ [first]: 5 }, "b"));
});

test("a prepared transaction that holds a lock of the record is named, though it has no process", async () => {
	const settings = { max_prepared_transactions: "2" };
	const preparing = await startPostgres({ settings });
	onTestFinished(() => preparing.stop());
	const { daysOf, load, loaded, sql, client } = await sceneOf(preparing);
	await loaded(await daysOf({ [first]: 3 }));
	await sql(hurry);
	const left = await client();
	await left.query("BEGIN");
	await left.query("LOCK TABLE webhooks._tidemill_loads");
	await left.query("PREPARE TRANSACTION 'left behind'");
	const { result } = await load(await daysOf({ [first]: 5 }, "b"));
	expect(result).toMatchObject({
		error: {
			code: "PostgresBusy",
			message: expect.stringMatching(
				/Locks are held by prepared transaction "left behind" of "postgres", in a transaction since .*, on webhooks\._tidemill_loads/,
			),
		},
	});
	await left.query("ROLLBACK PREPARED 'left behind'");
	await loaded(await daysOf({ [first]: 5 }, "b"));
});

import { createServer } from "node:net";
import {
	afterAll,
	afterEach,
	beforeAll,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import { secretFile } from "../../packages/warehouses/load/warehouse.ts";
import {
	fileEnv,
	type PostgresInput,
} from "../../packages/warehouses/postgres/input.ts";
import { query } from "../../packages/warehouses/postgres/load/warehouse.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresFixture } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";

/* What people do around a table while Runs change it: they read it, and give it rights, indexes and constraints. */

let server: PostgresServer;
beforeAll(async () => {
	server = await startPostgres();
});
afterAll(() => server?.stop());
afterEach(() => void vi.unstubAllEnvs());

const [first, second] = ["2026-03-01", "2026-03-02"];
const soon = { timeout: 60_000, interval: 20 };

async function sceneOf() {
	const fixture = await postgresFixture(server);
	const daysOf = (rows: number, tag = "a") =>
		fixture.manifest({ [first!]: [eventsOf(first!, rows, tag)] });
	const loaded = async (
		manifest: Awaited<ReturnType<typeof daysOf>>,
		input: Partial<LoadInput> = {},
	) => {
		const end = await fixture.load(
			{ ...manifest, run: crypto.randomUUID() },
			{ input },
		);
		expect(end.exitCode, end.log).toBe(0);
	};
	/** A connection that reads, and doesn't wait for ever. */
	const reader = async () => {
		const client = await server.connect(fixture.database);
		onTestFinished(() => client.end());
		await client.query("SET statement_timeout = '20s'");
		return client;
	};
	/** Until somebody waits for such a lock. */
	const untilWaiting = (mode: string) =>
		vi.waitFor(async () => {
			const found = await fixture.sql(
				`SELECT 1 FROM pg_locks WHERE NOT granted AND mode = '${mode}'`,
			);
			expect(found).toHaveLength(1);
		}, soon);
	return { ...fixture, daysOf, loaded, reader, untilWaiting };
}

const ofBody = (
	name: string,
	type: "Integer" | "String" = "Integer",
): TableColumn => ({ name, from: { bodyPointer: `/${name}`, type } });

const tableOf = (
	columns: readonly TableColumn[],
	indexes?: string[][],
): Partial<LoadInput> => ({
	table: {
		...{ name: "orders", description: "", columns: [...columns] },
		...(indexes && { options: { indexes } }),
	},
});

test("a role that may read the schema's tables reads new tables and the days that come, by the grants of the docs", async () => {
	const { manifest, loaded, sql, database, user } = await sceneOf();
	await sql(
		`CREATE ROLE analysts_${database}; GRANT USAGE ON SCHEMA webhooks TO analysts_${database};
		ALTER DEFAULT PRIVILEGES FOR ROLE ${user} IN SCHEMA webhooks GRANT SELECT ON TABLES TO analysts_${database}`,
	);
	const counts = () =>
		sql(
			`SET ROLE analysts_${database}; SELECT (SELECT count(*) FROM webhooks.orders), (SELECT count(*) FROM webhooks.orders_p20260301),
			(SELECT count(*) FROM webhooks.orders_p20260302)`,
		);
	const days = (rows: number) =>
		manifest({
			[first!]: [eventsOf(first!, rows, "a")],
			[second!]: [eventsOf(second!, rows, "a")],
		});
	await loaded(await days(2));
	expect(await counts()).toEqual([["4", "2", "2"]]);
	await loaded(await days(3));
	expect(await counts()).toEqual([["6", "3", "3"]]);
	const rebuilt = tableOf([
		...columns.filter(({ name }) => name !== "timestamp"),
		ofBody("timestamp"),
	]);
	await loaded(await days(4), { ...rebuilt, rebuild: true });
	expect(await counts()).toEqual([["8", "4", "4"]]);
});

test("the dead rows of a day that was replaced are vacuumed, and those of no other", async () => {
	const { manifest, daysOf, loaded, sql } = await sceneOf();
	await loaded(
		await manifest({
			[first!]: [eventsOf(first!, 3, "a")],
			[second!]: [eventsOf(second!, 3, "a")],
		}),
	);
	const day = {
		...(await daysOf(5, "b")),
		asked: { extent: "Chosen" as const },
	};
	await loaded(day);
	await vi.waitFor(
		async () =>
			expect(
				await sql(
					"SELECT relname, vacuum_count FROM pg_stat_user_tables WHERE relname LIKE 'orders\\_p%' ORDER BY 1",
				),
			).toEqual([
				["orders_p20260301", "1"],
				["orders_p20260302", "0"],
			]),
		soon,
	);
});

test("while a Run waits to add a column, who wants to read waits for moments only, and the Run for whoever reads", async () => {
	const { daysOf, loaded, reader, untilWaiting } = await sceneOf();
	await loaded(await daysOf(3));
	const long = await reader();
	await long.query("BEGIN");
	await long.query("SELECT count(*) FROM webhooks.orders");
	const days = await daysOf(5);
	const run = loaded(days, tableOf([...columns, ofBody("index")]));
	await untilWaiting("AccessExclusiveLock");
	const other = await reader();
	const { rows } = await other.query("SELECT count(*) FROM webhooks.orders");
	expect(rows).toEqual([{ count: "3" }]);
	await long.query("COMMIT");
	await run;
	const after = await other.query(
		"SELECT count(*), max(index) FROM webhooks.orders",
	);
	expect(after.rows).toEqual([{ count: "5", max: "4" }]);
});

/** Whoever makes an index on it waits until the test lets go. */
const slowIndex = `CREATE FUNCTION webhooks.slow(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN PERFORM pg_advisory_xact_lock_shared(4242); RETURN given; END $$;
	CREATE INDEX slow ON webhooks.orders (webhooks.slow(event_id))`;

test("a table can be read while a full reload makes its indexes, and has what it was given meanwhile", async () => {
	const { daysOf, loaded, reader, sql, untilWaiting } = await sceneOf();
	const input: Partial<LoadInput> = {
		...tableOf(columns.filter(({ from }) => from !== "Date")),
		strategy: "FullReload",
	};
	await loaded(await daysOf(3), input);
	await sql(slowIndex);
	const holder = await reader();
	await holder.query("SELECT pg_advisory_lock(4242)");
	const run = loaded(await daysOf(5), input);
	await untilWaiting("ShareLock");
	const other = await reader();
	const { rows } = await other.query("SELECT count(*) FROM webhooks.orders");
	expect(rows).toEqual([{ count: "3" }]);
	await sql("COMMENT ON COLUMN webhooks.orders.body IS 'Meanwhile.'");
	await holder.query("SELECT pg_advisory_unlock(4242)");
	await run;
	expect(
		await sql(
			"SELECT count(*), col_description('webhooks.orders'::regclass, 3) FROM webhooks.orders",
		),
	).toEqual([["5", "Meanwhile."]]);
});

test("a rebuilt table has the indexes and constraints of the old one, but for those of columns that it lacks", async () => {
	const { daysOf, loaded, sql } = await sceneOf();
	const before = [...columns, ofBody("index"), ofBody("tag", "String")];
	await loaded(
		await daysOf(3),
		tableOf(before, [["index", "date"], ["event_id"]]),
	);
	await sql(
		`CREATE INDEX mine ON webhooks.orders (upper(event_id)); COMMENT ON INDEX webhooks.mine IS 'for me';
		CREATE INDEX other ON webhooks.orders (date) WHERE index > 5;
		ALTER TABLE webhooks.orders ADD CONSTRAINT once UNIQUE (event_id, date), ADD CONSTRAINT few CHECK (index < 1000);
		COMMENT ON CONSTRAINT once ON webhooks.orders IS 'for all'; ALTER TABLE webhooks.orders ALTER body SET NOT NULL`,
	);
	// Another type, and one column less.
	const after = [...columns, ofBody("tag")];
	await loaded(await daysOf(5), {
		...tableOf(after, [["event_id"]]),
		rebuild: true,
	});
	const [[indexes, constraints, comments, isRequired] = []] = await sql(
		`SELECT (SELECT string_agg(substring(indexdef FROM '[(].*'), '; ' ORDER BY indexdef) FROM pg_indexes WHERE tablename = 'orders'),
			(SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), '; ' ORDER BY conname) FROM pg_constraint WHERE conrelid = c.oid AND contype <> 'n'),
			obj_description('webhooks.mine'::regclass, 'pg_class') || ', ' || (SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'once' AND conrelid = c.oid),
			(SELECT attnotnull FROM pg_attribute WHERE attrelid = c.oid AND attname = 'body')
		FROM pg_class c WHERE oid = 'webhooks.orders'::regclass`,
	);
	expect(String(indexes).split("; ").toSorted()).toEqual([
		"(event_id)",
		"(event_id, date)",
		"(upper(event_id))",
	]);
	expect(constraints).toBe("once UNIQUE (event_id, date)");
	expect([comments, isRequired]).toEqual(["for me, for all", "t"]);
	expect(
		await sql(
			"SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisvalid",
		),
	).toEqual([["0"]]);
});

test("a statement, a wait for a lock and a transaction that does nothing have an end, of who reads and of a load", async () => {
	const { destination, daysOf, loaded, sql, user } = await sceneOf();
	const settings =
		"current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')";
	const ends = ["1h", "30s", "10min"];
	const found: unknown[] = [];
	await query(
		destination,
		`SELECT ${settings}`,
		secretFile,
		async ({ values }) => void found.push(...(await Array.fromAsync(values))),
	);
	expect(found).toEqual([ends]);
	await loaded(await daysOf(2));
	await sql(
		`CREATE TABLE webhooks.said (statement text, lock text, idle text); GRANT INSERT ON webhooks.said TO ${user};
		CREATE FUNCTION webhooks.say() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO webhooks.said SELECT ${settings}; RETURN new; END $$;
		CREATE TRIGGER say BEFORE INSERT ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION webhooks.say()`,
	);
	await loaded(await daysOf(3, "b"));
	expect(await sql("TABLE webhooks.said")).toEqual([ends, ends, ends]);
});

test("a server that takes a connection and says nothing is given up", async () => {
	const silent = createServer((socket) => socket.on("error", () => undefined));
	silent.listen(0, "127.0.0.1");
	onTestFinished(() => void silent.close());
	const { destination, env } = await sceneOf();
	const { port } = silent.address() as { port: number };
	const { result } = await checkDestination({ ...destination, port }, env);
	expect(result).toMatchObject({
		outcome: "Failed",
		error: { code: "PostgresUnavailable", retryable: true },
	});
});

test("what the Destination leaves out of host, port and database, a Job finds in the Secret, as CloudNativePG makes one, and the Destination wins", async () => {
	const { destination, user, password, database } = await sceneOf();
	const { host, port, database: _, ...without } = destination;
	const ofCluster: Record<string, string> = {
		...{ username: user, password, host: host!, port: String(port) },
		...{ dbname: database, uri: "postgresql://nobody:none@192.0.2.1/none" },
	};
	const asked = async (input: PostgresInput, secret: typeof ofCluster) => {
		const found: unknown[] = [];
		await query(
			input,
			"SELECT current_database(), inet_server_port()::text",
			async (env) =>
				Object.entries(secret).find(
					([key]) => fileEnv[key as keyof typeof fileEnv] === env,
				)?.[1],
			async ({ values }) => void found.push(...(await Array.fromAsync(values))),
		);
		return found;
	};
	const here = [[database, String(port)]];
	expect(await asked(without, ofCluster)).toEqual(here);
	const elsewhere = { host: "192.0.2.1", port: "1", dbname: "postgres" };
	expect(await asked(destination, { ...ofCluster, ...elsewhere })).toEqual(
		here,
	);
	const { dbname: __, ...incomplete } = ofCluster;
	await expect(asked(without, incomplete)).rejects.toMatchObject({
		code: "DatabaseMissing",
	});
});

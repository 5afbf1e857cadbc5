// In make test: test/data-plane/postgres-load.laptop.test.ts
import { expect, onTestFinished, test, vi } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	postgresFixture,
	postgresOfFile,
} from "../support/fixtures/data-plane/postgres-fixture.ts";

/* What people do around a table while Runs change it: they read it, and give it rights, indexes and constraints. */

const server = postgresOfFile();

const [first, second] = ["2026-03-01", "2026-03-02"];
const soon = { timeout: 60_000, interval: 20 };

async function sceneOf() {
	const fixture = await postgresFixture(server());
	const daysOf = (rows: number, tag = "a") =>
		fixture.manifest({ [first!]: [eventsOf(first!, rows, tag)] });
	/** A connection that reads, and doesn't wait for ever. */
	const reader = async () => {
		const client = await server().connect(fixture.database);
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
	return { ...fixture, daysOf, reader, untilWaiting };
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

/** Whoever adds to this index waits until the test lets go. */
const slowIndex = `CREATE FUNCTION webhooks.slow(given text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN PERFORM pg_advisory_xact_lock_shared(4242); RETURN given; END $$;
	CREATE INDEX slow ON webhooks.orders (webhooks.slow(event_id))`;

test("a table can be read while a full reload changes it, and has what it was given meanwhile", async () => {
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

test("a full reload keeps the table, and so what people gave to it, also a view", async () => {
	const { manifest, daysOf, loaded, sql, database } = await sceneOf();
	const input: Partial<LoadInput> = {
		...tableOf(columns.filter(({ from }) => from !== "Date")),
		strategy: "FullReload",
	};
	await loaded(await daysOf(3), input);
	await sql(
		`CREATE ROLE "Reader ${database}"; CREATE ROLE former_${database};
		GRANT SELECT ON webhooks.orders TO "Reader ${database}" WITH GRANT OPTION;
		GRANT SELECT (event_id) ON webhooks.orders TO former_${database};
		COMMENT ON COLUMN webhooks.orders.body IS 'it''s \\ raw';
		CREATE INDEX "by Time" ON webhooks.orders (timestamp DESC) WHERE body <> '';
		COMMENT ON INDEX webhooks."by Time" IS 'for reports';
		ALTER TABLE webhooks.orders ADD CONSTRAINT once UNIQUE (event_id), ADD CONSTRAINT named CHECK (event_id <> '');
		ALTER TABLE webhooks.orders SET (fillfactor = 70)`,
	);
	const facts = () =>
		sql(
			`SELECT relacl::text, reloptions::text, (SELECT string_agg(attacl::text, ',') FROM pg_attribute WHERE attrelid = c.oid),
			col_description(oid, 3), (SELECT string_agg(pg_get_indexdef(indexrelid) || coalesce(obj_description(indexrelid), ''), '; ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = c.oid),
			(SELECT string_agg(conname || pg_get_constraintdef(oid), '; ' ORDER BY conname) FROM pg_constraint WHERE conrelid = c.oid)
			FROM pg_class c WHERE oid = 'webhooks.orders'::regclass`,
		);
	const before = await facts();
	const next = await manifest({ [second!]: [eventsOf(second!, 5, "b")] });
	await loaded(next, input);
	expect(
		await sql(
			"SELECT count(*), min(timestamp) = '2026-03-02 00:00Z' FROM webhooks.orders",
		),
	).toEqual([["5", "t"]]);
	expect(await facts()).toEqual(before);
	await sql("CREATE VIEW webhooks.recent AS SELECT * FROM webhooks.orders");
	await loaded(next, input);
	expect(await sql("SELECT count(*) FROM webhooks.recent")).toEqual([["5"]]);
});

test("a full reload keeps the grants on the view of latest rows and the views of it, and a table that isn't for Tidemill's eyes stops no Run", async () => {
	const { load, daysOf, sql, database, ...fixture } = await sceneOf();
	const inputOf = (
		by: string[],
		type: "Integer" | "String" = "Integer",
	): Partial<LoadInput> => ({
		strategy: "FullReload",
		rebuild: true,
		table: {
			name: "orders",
			columns: [
				...columns.filter(({ from }) => from !== "Date"),
				{ name: "id", from: { bodyPointer: "/index", type } },
			],
			description: "",
			latest: { name: "orders_latest", by },
		},
	});
	const days = await daysOf(3);
	const loaded = (input: Partial<LoadInput>) => fixture.loaded(days, input);
	await loaded(inputOf(["id"]));
	await sql(
		`CREATE ROLE viewer_${database}; GRANT SELECT ON webhooks.orders_latest TO viewer_${database};
		CREATE VIEW webhooks.mine AS SELECT event_id FROM webhooks.orders_latest`,
	);
	const facts = () =>
		sql(
			"SELECT relacl::text, (SELECT count(*) FROM webhooks.mine) FROM pg_class WHERE oid = 'webhooks.orders_latest'::regclass",
		);
	const before = await facts();
	expect(before[0]![0]).toContain(`viewer_${database}=r`);
	for (const by of [["id"], ["event_id"]]) await loaded(inputOf(by));
	expect(await facts()).toEqual([[before[0]![0], "3"]]);
	// A view with another column can't be replaced under one that reads it.
	for (let times = 0; times < 2; times++) {
		const held = await fixture.loaded(days, inputOf(["id"], "String"));
		expect(held).toMatchObject({
			warning: expect.stringMatching(
				/View orders_latest has NULL in id.* while view webhooks.mine depends on it/,
			),
		});
		expect(await facts()).toEqual([[before[0]![0], "3"]]);
	}
	expect(
		await sql("SELECT count(*), count(id) FROM webhooks.orders_latest"),
	).toEqual([["3", "0"]]);
	// Every type has its text.
	await loaded(inputOf(["id"], "Integer"));
	await sql(
		"DROP VIEW webhooks.mine; CREATE VIEW webhooks.mine AS SELECT * FROM webhooks.orders_latest",
	);
	// Back to none, while it is held.
	expect(await fixture.loaded(days, inputOf([]))).toMatchObject({
		warning: expect.stringContaining("View orders_latest stays"),
	});
	expect((await facts())[0]![1]).toBe("3");
	const refused = await load(days, { input: inputOf([], "String") });
	expect(refused.result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringMatching(/^(?!.*CASCADE).*view webhooks.mine/s),
		},
	});
	await loaded(inputOf(["id"]));
	await sql("DROP VIEW webhooks.mine");
	await loaded(inputOf(["id"], "String"));
	await sql("CREATE VIEW webhooks.mine AS SELECT 1 AS one");
	expect((await facts())[0]![0]).toBe(before[0]![0]);
	await sql(
		`DROP VIEW webhooks.orders_latest; CREATE TABLE webhooks.orders_latest (); ALTER TABLE webhooks.orders_latest OWNER TO viewer_${database}`,
	);
	await loaded(inputOf([]));
});

test.each(["by hand", "in the Pipeline"])(
	"after a table was renamed %s, the new one has the Pipeline's indexes, too, and once",
	async (how) => {
		const { daysOf, sql, ...fixture } = await sceneOf();
		const inputOf = (name: string): Partial<LoadInput> => ({
			table: {
				...{ name, description: "", columns },
				options: { indexes: [["event_id", "date"], ["date"]] },
			},
		});
		const days = await daysOf(1);
		const loaded = (input: Partial<LoadInput>) => fixture.loaded(days, input);
		const indexesOf = async (table: string) =>
			(
				await sql(
					`SELECT substring(indexdef FROM '[(].*[)]') FROM pg_indexes WHERE schemaname = 'webhooks' AND tablename = '${table}' ORDER BY 1`,
				)
			).flat();
		const expected = ["(date)", "(event_id, date)"];
		await loaded(inputOf("orders"));
		await loaded(inputOf("orders"));
		expect(await indexesOf("orders")).toEqual(expected);
		if (how === "by hand") {
			await sql("ALTER TABLE webhooks.orders RENAME TO former");
			// One of a person's own on some of the columns, or on some of the rows, is another one.
			await loaded({ table: { name: "orders", description: "", columns } });
			await sql("CREATE INDEX mine ON webhooks.orders (event_id)");
			await sql(
				"CREATE INDEX part ON webhooks.orders (date) WHERE event_id > 'e'",
			);
		}
		const name = how === "by hand" ? "orders" : "orders2";
		for (let times = 0; times < 2; times++) {
			await loaded(inputOf(name));
			const found = await indexesOf(name);
			expect(found).toEqual(expect.arrayContaining(expected));
			expect(found).toHaveLength(how === "by hand" ? 4 : 2);
		}
	},
);

/** A Run of a later date, which erases an event of each date before. */
async function erasing(scene: Awaited<ReturnType<typeof sceneOf>>) {
	const later = await scene.manifest({ "2026-03-04": [] });
	return scene.loaded({
		...later,
		asked: { extent: "Chosen" },
		erasures: {
			asked: 1,
			others: [
				{
					mode: "RemoveRow",
					before: "2026-03-03",
					match: { bodyPointer: "/index", equalsNumber: "0" },
				},
			],
		},
	});
}

test("a table that somebody has attached to a bigger one is loaded, and an Erase finds its rows", async () => {
	const scene = await sceneOf();
	const { sql, loaded, daysOf, manifest } = scene;
	await loaded(await daysOf(2));
	await sql(
		`CREATE TABLE webhooks.everything (LIKE webhooks.orders) PARTITION BY RANGE (date);
		ALTER TABLE webhooks.everything ATTACH PARTITION webhooks.orders FOR VALUES FROM ('2020-01-01') TO ('2030-01-01')`,
	);
	await loaded(await manifest({ [second!]: [eventsOf(second!, 2, "a")] }));
	expect(await erasing(scene)).not.toHaveProperty("warning");
	expect(
		await sql("SELECT date, body::json->>'index' FROM webhooks.everything"),
	).toEqual([
		[first, "1"],
		[second, "1"],
	]);
});

test.each(["", " CONCURRENTLY, which waits for a reader"])(
	"an Erase reaches a partition that somebody has detached%s, and names one of an early build, and nothing else of the schema",
	async (how) => {
		const scene = await sceneOf();
		const { sql, loaded, daysOf, manifest, reader, database } = scene;
		await loaded(await daysOf(2));
		await loaded(await manifest({ [second!]: [eventsOf(second!, 2, "a")] }));
		const [[mark] = []] = await sql(
			"SELECT obj_description('webhooks.orders_p20260301'::regclass)",
		);
		expect(mark).toContain("A day of table orders\n");
		// One of another table, and one that somebody has made by hand.
		await sql(
			`CREATE TABLE webhooks.others_p20260301 (LIKE webhooks.orders); CREATE TABLE webhooks.orders_p20260401 (note text)`,
		);
		const detach =
			"ALTER TABLE webhooks.orders DETACH PARTITION webhooks.orders_p20260301";
		if (how === "") await sql(detach);
		else {
			const client = await reader();
			await client.query("BEGIN; SELECT FROM webhooks.orders");
			const owner = await server().connect(database);
			onTestFinished(() => owner.end());
			const pending = owner.query(`${detach} CONCURRENTLY`);
			pending.catch(() => undefined);
			await vi.waitFor(async () => {
				const found = await sql(
					"SELECT FROM pg_inherits WHERE inhdetachpending",
				);
				expect(found).toHaveLength(1);
			}, soon);
			await sql(
				`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%CONCURRENTLY' AND pid <> pg_backend_pid()`,
			);
			await client.query("COMMIT");
		}
		// Of an early build, whose partitions have no mark.
		await sql("COMMENT ON TABLE webhooks.orders_p20260301 IS 'Mine.'");
		expect(await erasing(scene)).toMatchObject({
			erasedRows: 1,
			warning:
				"What was detached from table orders can't be erased: orders_p20260301. Drop it, or attach it and erase again.",
		});
		const rows = () =>
			sql(
				"SELECT (SELECT count(*) FROM webhooks.orders), (SELECT count(*) FROM webhooks.orders_p20260301)",
			);
		expect(await rows()).toEqual([["1", "2"]]);
		await sql(
			`DO $$ BEGIN EXECUTE format('COMMENT ON TABLE webhooks.orders_p20260301 IS %L', '${mark}'); END $$`,
		);
		const erased = await erasing(scene);
		expect(erased).toMatchObject({ erasedRows: 1 });
		expect(erased).not.toHaveProperty("warning");
		expect(await rows()).toEqual([["1", "1"]]);
	},
);

// In make test: test/data-plane/warehouses/postgres.laptop.test.ts
import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import { columns } from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresBeside } from "../support/fixtures/data-plane/postgres-beside.ts";
import { postgresOfFile } from "../support/fixtures/data-plane/postgres-fixture.ts";

/* What is somebody's stays his, also what Runs seldom meet: tables that inherit, guards of a view and of partitions, detached days. */

const server = postgresOfFile();

const [first, second] = ["2026-03-01", "2026-03-02"] as const;
const one = { eventIDs: [`${first}-a-1`] };

type Table = LoadInput["table"];
const withNumber: Table["columns"] = [
	...columns,
	{ name: "n", from: { bodyPointer: "/index", type: "Integer" } },
];

test.each(["the loader's", "somebody's"])(
	"a full reload leaves rows alone of a table that inherits from the loaded one: %s",
	async (whose) => {
		const { daysOf, loaded, sql, user } = await postgresBeside(server());
		const full = {
			strategy: "FullReload" as const,
			table: {
				name: "orders",
				description: "",
				columns: columns.filter(({ from }) => from !== "Date"),
			},
		};
		await loaded(await daysOf({ [first]: 3 }), full);
		await sql(
			`CREATE TABLE webhooks.mine (note text) INHERITS (webhooks.orders);
			INSERT INTO webhooks.mine VALUES ('m', now(), '{}', 'my note')`,
		);
		if (whose === "the loader's")
			await sql(`ALTER TABLE webhooks.mine OWNER TO ${user}`);
		for (const rows of [4, 0, 2])
			expect(
				await loaded(await daysOf({ [first]: rows }, `of ${rows}`), full),
			).not.toHaveProperty("otherRows");
		expect(
			await sql(
				"SELECT (SELECT string_agg(note, '') FROM webhooks.mine), (SELECT count(*) FROM ONLY webhooks.orders)",
			),
		).toEqual([["my note", "2"]]);
	},
);

const latest = { name: "orders_latest", by: ["event_id"] };
const tableOf = (columns: Table["columns"]): Partial<LoadInput> => ({
	table: { name: "orders", description: "", columns, latest },
});

test("a view of latest rows that is written anew keeps its settings, by which its readers see what they may", async () => {
	const { daysOf, loaded, sql } = await postgresBeside(server());
	const settings = () =>
		sql(
			"SELECT array_to_string(reloptions, ' '), (SELECT count(*) FROM pg_attribute WHERE attrelid = c.oid) FROM pg_class c WHERE relname = 'orders_latest'",
		);
	await loaded(await daysOf({ [first]: 3 }), tableOf(columns));
	await sql(
		"ALTER VIEW webhooks.orders_latest SET (security_invoker = true, security_barrier = true)",
	);
	const set = "security_invoker=true security_barrier=true";
	await loaded(await daysOf({ [first]: 3 }), tableOf(withNumber));
	expect(await settings()).toEqual([[set, "5"]]);
	// One with fewer columns is another view.
	await loaded(await daysOf({ [first]: 3 }), tableOf(columns));
	expect(await settings()).toEqual([[set, "4"]]);
	const n = { name: "n", from: { bodyPointer: "/index", type: "String" } };
	const rebuilt = tableOf([...columns, n] as Table["columns"]);
	await loaded(await daysOf({ [first]: 3 }), { ...rebuilt, rebuild: true });
	expect(await settings()).toEqual([[set, "5"]]);
});

test("a view of latest rows that somebody else owns stays as it is, the table is loaded, and the Run says whose it is", async () => {
	const { daysOf, load, loaded, sql, database, user } = await postgresBeside(
		server(),
	);
	await loaded(await daysOf({ [first]: 3 }), tableOf(columns));
	await sql(
		`CREATE ROLE dbt_${database}; GRANT ALL ON SCHEMA webhooks TO dbt_${database}; ALTER VIEW webhooks.orders_latest OWNER TO dbt_${database}`,
	);
	for (const rows of [4, 5])
		expect(
			await loaded(await daysOf({ [first]: rows }), tableOf(withNumber)),
		).toMatchObject({
			warning: expect.stringContaining(
				`View orders_latest stays as it is, since dbt_${database} owns it`,
			),
		});
	expect(await sql("SELECT count(n) FROM webhooks.orders")).toEqual([["5"]]);
	const n = { name: "n", from: { bodyPointer: "/index", type: "String" } };
	const rebuilt = tableOf([...columns, n] as Table["columns"]);
	const { result } = await load(await daysOf({ [first]: 5 }), {
		input: { ...rebuilt, rebuild: true },
	});
	expect(result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringContaining("view webhooks.orders_latest"),
		},
	});
	await sql(`ALTER VIEW webhooks.orders_latest OWNER TO ${user}`);
	await loaded(await daysOf({ [first]: 5 }), tableOf(withNumber));
	expect(await sql("SELECT count(n) FROM webhooks.orders_latest")).toEqual([
		["5"],
	]);
});

test("a rebuild is refused by what guards a partition, and by a security label", async () => {
	const { daysOf, load, loaded, sql } = await postgresBeside(server());
	await loaded(await daysOf({ [first]: 3 }));
	await sql(
		`ALTER TABLE webhooks.orders ALTER event_id TYPE bytea USING event_id::bytea;
		ALTER TABLE webhooks.orders_p20260301 ENABLE ROW LEVEL SECURITY; CREATE POLICY mine ON webhooks.orders_p20260301 USING (true);
		CREATE FUNCTION webhooks.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
		CREATE TRIGGER keep BEFORE INSERT ON webhooks.orders_p20260301 FOR EACH ROW EXECUTE FUNCTION webhooks.keep();
		CREATE RULE also AS ON DELETE TO webhooks.orders_p20260301 DO ALSO NOTIFY gone; CREATE PUBLICATION day FOR TABLE webhooks.orders_p20260301;
		CREATE VIEW webhooks.day AS SELECT * FROM webhooks.orders_p20260301;
		INSERT INTO pg_seclabel VALUES ('webhooks.orders'::regclass, 'pg_class'::regclass, 3, 'anon', 'MASKED')`,
	);
	const { result } = await load(await daysOf({ [first]: 3 }), {
		input: { rebuild: true },
	});
	const of = "of its partition webhooks.orders_p20260301";
	expect(result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringContaining(
				`policy mine ${of}, publication day ${of}, row security ${of}, rule also ${of}, security label of anon, trigger keep ${of}, view webhooks.day`,
			),
		},
	});
	await sql("DELETE FROM pg_seclabel");
});

test("an Erase finds rows of a partition that somebody has detached and renamed, and names one in another schema", async () => {
	const { daysOf, erasure, load, loaded, sql } = await postgresBeside(server());
	await loaded(await daysOf({ [first]: 3, [second]: 3 }));
	await sql(
		`COMMENT ON TABLE webhooks.orders_p20260301 IS 'Mine.'; ALTER TABLE webhooks.orders_p20260301 SET (fillfactor = 90)`,
	);
	// A Run marks it again, and leaves the words.
	await loaded(await daysOf({ [first]: 4 }));
	await sql(
		`ALTER TABLE webhooks.orders DETACH PARTITION webhooks.orders_p20260301; ALTER TABLE webhooks.orders_p20260301 RENAME TO old_march;
		CREATE SCHEMA archive; ALTER TABLE webhooks.orders DETACH PARTITION webhooks.orders_p20260302; ALTER TABLE webhooks.orders_p20260302 SET SCHEMA archive`,
	);
	expect(await loaded(await erasure(one))).toMatchObject({
		erasedRows: 1,
		warning:
			"What was detached from table orders can't be erased: archive.orders_p20260302. Drop it, or attach it and erase again.",
	});
	expect(
		await sql(
			"SELECT (SELECT count(*) FROM webhooks.old_march), (SELECT count(*) FROM archive.orders_p20260302), split_part(obj_description('webhooks.old_march'::regclass), E'\\n', 1)",
		),
	).toEqual([["3", "3", "Mine."]]);
	// One that somebody has given to another table is that one's.
	await sql(
		`CREATE TABLE webhooks.others (LIKE webhooks.orders) PARTITION BY RANGE (date);
		ALTER TABLE webhooks.others ATTACH PARTITION webhooks.old_march FOR VALUES FROM ('${first}') TO ('${second}')`,
	);
	const other = await loaded(await erasure({ eventIDs: [`${first}-a-2`] }));
	expect(other).not.toHaveProperty("erasedRows");
	expect(other).toMatchObject({
		warning: expect.stringContaining("archive.orders_p20260302 and 1 more."),
	});
	await sql("ALTER TABLE webhooks.others DETACH PARTITION webhooks.old_march");
	// One that is attached again is no table of its own.
	await sql(
		`ALTER TABLE webhooks.orders ATTACH PARTITION webhooks.old_march FOR VALUES FROM ('${first}') TO ('${second}')`,
	);
	const { erasedRows } = (await loaded(
		await erasure({ eventIDs: [`${first}-a-2`] }),
	)) as { erasedRows?: number };
	expect(erasedRows).toBe(1);
	// Nor is one of a table that isn't the Pipeline's any more.
	await sql("COMMENT ON TABLE webhooks.orders IS 'Mine.'");
	const { result } = await load(await erasure({ eventIDs: [`${first}-a-0`] }));
	expect(result).toMatchObject({ error: { code: "TableNotOurs" } });
	expect(await sql("SELECT count(*) FROM webhooks.old_march")).toEqual([["2"]]);
});

test("an Erase that blanks rows ends with an error where a CHECK refuses blank ones, which it names", async () => {
	const { daysOf, erasure, load, loaded, sql } = await postgresBeside(server());
	await loaded(await daysOf({ [first]: 3 }));
	await sql(
		"ALTER TABLE webhooks.orders ADD CONSTRAINT long CHECK (length(body) > 5)",
	);
	const { result } = await load(await erasure({ ...one, mode: "BlankBody" }));
	expect(result).toMatchObject({
		error: {
			code: "RowsRefused",
			message: expect.stringContaining('by constraint "long"'),
		},
	});
	expect(await loaded(await erasure(one))).toMatchObject({ erasedRows: 1 });
});

test("a trigger for each statement sees an Erase if it is the table's, and Runs if it is the day's", async () => {
	const { daysOf, erasure, loaded, sql } = await postgresBeside(server());
	await loaded(await daysOf({ [first]: 3, [second]: 3 }));
	await sql(
		`CREATE TABLE webhooks.audit (name text, rows int); GRANT ALL ON webhooks.audit TO PUBLIC;
		CREATE FUNCTION webhooks.audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO webhooks.audit SELECT TG_TABLE_NAME, count(*) FROM gone; RETURN NULL; END $$`,
	);
	for (const table of ["orders", "orders_p20260301"])
		await sql(
			`CREATE TRIGGER audit AFTER DELETE ON webhooks.${table} REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION webhooks.audit()`,
		);
	await loaded(await daysOf({ [first]: 2, [second]: 1 }));
	await loaded(await erasure(one));
	expect(await sql("SELECT * FROM webhooks.audit ORDER BY 1")).toEqual([
		["orders", "1"],
		["orders_p20260301", "1"],
	]);
});

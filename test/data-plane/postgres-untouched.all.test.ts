// In make test: test/data-plane/warehouses/postgres.laptop.test.ts
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { postgresBeside } from "../support/fixtures/data-plane/postgres-beside.ts";
import { postgresOfFile } from "../support/fixtures/data-plane/postgres-fixture.ts";

/* Rows that a policy hides, or that a trigger or a rule leaves as they were: neither an Erase nor a Run says that it has changed them. */

const server = postgresOfFile();

const [first, second] = ["2026-03-01", "2026-03-02"] as const;

async function sceneOf() {
	const scene = await postgresBeside(server());
	const { daysOf, loaded, load, sql } = scene;
	const days = await daysOf({ [first]: 3, [second]: 3 });
	await loaded(days);
	const ids = async () =>
		(await sql("SELECT event_id FROM webhooks.orders ORDER BY 1")).flat();
	const all = await ids();
	return {
		...scene,
		days,
		ids,
		all,
		/** A Run that ends with an error and leaves the rows as they were. */
		async refused(manifest: Manifest, input = {}) {
			const { result } = await load(manifest, { input });
			expect(await ids()).toEqual(all);
			return (result as { error?: { code: string; message: string } }).error!;
		},
	};
}

/** @param does PL/pgSQL, with the trigger's return. */
const trigger = (when: string, does: string) =>
	`CREATE FUNCTION webhooks.guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${does} END $$;
	CREATE TRIGGER guard ${when} ON webhooks.orders FOR EACH ROW EXECUTE FUNCTION webhooks.guard()`;

/** One that runs at COMMIT. */
const deferred = (when: string, does: string) =>
	trigger(when, does)
		.replace("CREATE TRIGGER", "CREATE CONSTRAINT TRIGGER")
		.replace("FOR EACH ROW", "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW");

const one = { eventIDs: [`${first}-a-1`] };

test.each([
	["by its id", one],
	[
		"by a value that only the bodies have",
		{ match: { bodyPointer: "/index", equalsNumber: "1" } },
	],
	["without its body", { ...one, mode: "BlankBody" as const }],
])(
	"an Erase of an event %s is refused where a policy applies to the user, with what to do, and done once none does",
	async (_, what) => {
		const { erasure, refused, loaded, sql, all, ids } = await sceneOf();
		await sql(
			`ALTER TABLE webhooks.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
			CREATE POLICY most ON webhooks.orders USING (event_id <> '${first}-a-1')`,
		);
		expect(await refused(await erasure(what))).toMatchObject({
			code: "RowsHidden",
			message: expect.stringMatching(/"orders".*NO FORCE ROW LEVEL SECURITY/s),
		});
		await sql("ALTER TABLE webhooks.orders NO FORCE ROW LEVEL SECURITY");
		const result = await loaded(await erasure(what));
		const isByValue = "match" in what;
		expect(result).toMatchObject({ erasedRows: isByValue ? 2 : 1 });
		const stays =
			"mode" in what
				? all
				: all.filter(
						(id) => !id!.endsWith(`${isByValue ? "" : `${first}-a`}-1`),
					);
		expect(await ids()).toEqual(stays);
		expect(
			await sql(
				`SELECT count(*) FROM webhooks.orders WHERE event_id = '${first}-a-1' AND body <> 'null'`,
			),
		).toEqual([["0"]]);
	},
);

test.each([
	[
		"a trigger that keeps it",
		trigger("BEFORE DELETE", "RETURN NULL;"),
		"RemoveRow",
		"trigger guard",
	],
	[
		"a trigger that puts it back",
		trigger(
			"AFTER DELETE",
			"INSERT INTO webhooks.orders SELECT OLD.*; RETURN NULL;",
		),
		"RemoveRow",
		"trigger guard",
	],
	[
		"a trigger that puts it back when all else is done",
		deferred(
			"AFTER DELETE",
			"INSERT INTO webhooks.orders SELECT OLD.*; RETURN NULL;",
		),
		"RemoveRow",
		"trigger guard",
	],
	[
		"a trigger that puts its body back when all else is done",
		deferred(
			"AFTER UPDATE",
			"IF pg_trigger_depth() = 1 THEN UPDATE webhooks.orders SET body = OLD.body WHERE event_id = OLD.event_id; END IF; RETURN NULL;",
		),
		"BlankBody",
		"trigger guard",
	],
	[
		"a rule that does nothing instead",
		"CREATE RULE guard AS ON DELETE TO webhooks.orders DO INSTEAD NOTHING",
		"RemoveRow",
		"rule guard",
	],
	[
		"a trigger that keeps it as it was",
		trigger("BEFORE UPDATE", "RETURN OLD;"),
		"BlankBody",
		"trigger guard",
	],
	[
		"a trigger that passes it over",
		trigger("BEFORE UPDATE", "RETURN NULL;"),
		"BlankBody",
		"trigger guard",
	],
] as const)(
	"an Erase of a row ends with an error that names %s, and the row is as it was",
	async (_, guard, mode, name) => {
		const { erasure, refused, loaded, sql, all, ids } = await sceneOf();
		await sql(`GRANT ALL ON ALL TABLES IN SCHEMA webhooks TO PUBLIC; ${guard}`);
		const before = await sql("SELECT * FROM webhooks.orders ORDER BY 1");
		expect(await refused(await erasure({ ...one, mode }))).toMatchObject({
			code: "RowsUntouched",
			message: expect.stringMatching(
				new RegExp(`1 of 1 rows of table .*orders.* ${name} may have it`),
			),
		});
		expect(await sql("SELECT * FROM webhooks.orders ORDER BY 1")).toEqual(
			before,
		);
		// It keeps no other Erase that finds nothing there.
		const none = await loaded(await erasure({ eventIDs: ["none"], mode }));
		expect(none).not.toHaveProperty("erasedRows");
		expect(await ids()).toEqual(all);
	},
);

test("a trigger that says when a row was changed keeps no Erase of bodies", async () => {
	const { erasure, loaded, sql } = await sceneOf();
	await sql(
		`ALTER TABLE webhooks.orders ADD COLUMN place text DEFAULT 'here', ADD COLUMN changed timestamptz DEFAULT '2026-03-01', ADD COLUMN more json DEFAULT '{}';
		${trigger("BEFORE UPDATE", "NEW.changed = now(); RETURN NEW;")}`,
	);
	const result = await loaded(await erasure({ ...one, mode: "BlankBody" }));
	expect(result).toMatchObject({ erasedRows: 1 });
	expect(
		await sql(
			`SELECT body, place, more, changed > '2026-03-02' FROM webhooks.orders WHERE event_id = '${first}-a-1'`,
		),
	).toEqual([["null", null, null, "t"]]);
});

test("a column of a person's has its default in the rows that come, and an Erase blanks it", async () => {
	const { daysOf, erasure, loaded, sql } = await sceneOf();
	await sql(
		"ALTER TABLE webhooks.orders ADD COLUMN place text DEFAULT 'here'; UPDATE webhooks.orders SET place = 'there'",
	);
	await loaded(await daysOf({ "2026-03-03": 1 }));
	await loaded(await erasure({ ...one, mode: "BlankBody" }));
	expect(
		await sql(
			"SELECT place, count(*) FROM webhooks.orders GROUP BY 1 ORDER BY 1",
		),
	).toEqual([
		["here", "1"],
		["there", "5"],
		[null, "1"],
	]);
});

test("a Run goes on beside rules of the table", async () => {
	const { daysOf, loaded, sql, ids } = await sceneOf();
	for (const what of ["DELETE", "INSERT", "UPDATE"])
		await sql(
			`CREATE RULE no_${what} AS ON ${what} TO webhooks.orders DO INSTEAD NOTHING`,
		);
	await loaded(await daysOf({ [first]: 1, [second]: 0 }, "b"));
	expect(await ids()).toEqual([`${first}-b-0`]);
});

test.each([
	["keeps the old rows", trigger("BEFORE DELETE", "RETURN NULL;"), "3 of 3"],
	[
		"puts them back when all else is done",
		deferred(
			"AFTER DELETE",
			"INSERT INTO webhooks.orders SELECT OLD.*; RETURN NULL;",
		),
		"3 of 3",
	],
	[
		"puts one back",
		trigger(
			"AFTER DELETE",
			"IF OLD.event_id LIKE '%-1' THEN INSERT INTO webhooks.orders SELECT OLD.*; END IF; RETURN NULL;",
		),
		"1 of 1",
	],
])(
	"a Run that replaces a day ends with an error if a trigger %s, and each day is the old one",
	async (_, guard, words) => {
		const { daysOf, refused, loaded, sql, ids } = await sceneOf();
		await sql(`GRANT ALL ON ALL TABLES IN SCHEMA webhooks TO PUBLIC; ${guard}`);
		for (const rows of [4, 0])
			expect(await refused(await daysOf({ [first]: rows }, "b"))).toMatchObject(
				{
					code: "RowsUntouched",
					message: expect.stringMatching(
						new RegExp(`${words} rows of table .* trigger guard may have it`),
					),
				},
			);
		await sql("ALTER TABLE webhooks.orders DISABLE TRIGGER guard");
		await loaded(await daysOf({ [first]: 4, [second]: 0 }, "b"));
		expect(await ids()).toHaveLength(4);
	},
);

test("a Run whose rows a trigger leaves out ends with an error, also where it only adds them", async () => {
	const { daysOf, refused, sql } = await sceneOf();
	await sql(
		trigger(
			"BEFORE INSERT",
			"IF NEW.event_id LIKE '%-0' THEN RETURN NULL; END IF; RETURN NEW;",
		),
	);
	const error = {
		code: "RowsUntouched",
		message: expect.stringMatching(
			/1 of 2 rows of table .* weren't inserted, as trigger guard may have it/,
		),
	};
	expect(await refused(await daysOf({ [first]: 2 }, "b"))).toMatchObject(error);
	expect(await refused(await daysOf({ "2026-03-03": 2 }, "b"))).toMatchObject(
		error,
	);
});

test.each([
	["", trigger],
	[" when all else is done", deferred],
])(
	"a Run that adds rows ends with an error if a trigger deletes them%s",
	async (_, made) => {
		const { days, daysOf, refused, load, sql, all } = await sceneOf();
		await sql(
			`GRANT ALL ON ALL TABLES IN SCHEMA webhooks TO PUBLIC; ${made("AFTER INSERT", "DELETE FROM webhooks.orders WHERE event_id = NEW.event_id; RETURN NULL;")}`,
		);
		const [day, ...others] = days.dates;
		const [{ objects } = { objects: [] }] = (await daysOf({ [first]: 2 }, "b"))
			.dates;
		const more = { ...day!, rows: 5, objects: [...day!.objects, ...objects] };
		const both = { ...days, run: randomUUID(), dates: [more, ...others] };
		const adding = { adds: true as const };
		expect(await refused(both, adding)).toMatchObject({
			code: "RowsUntouched",
			message: expect.stringMatching(
				/2 of 2 rows of table .* weren't inserted, as trigger guard may have it/,
			),
		});
		await sql("ALTER TABLE webhooks.orders DISABLE TRIGGER guard");
		const { result } = await load(both, { input: adding });
		expect(result).toMatchObject({ addedRows: 2 });
		expect(await sql("SELECT count(*) FROM webhooks.orders")).toEqual([
			[String(all.length + 2)],
		]);
	},
);

test("a rule on a day's partition that leaves a row out ends the Run with an error that names it", async () => {
	const { daysOf, refused, loaded, sql, ids } = await sceneOf();
	await sql(
		"CREATE RULE guard AS ON INSERT TO webhooks.orders_p20260301 DO INSTEAD NOTHING",
	);
	const more = await daysOf({ [first]: 5 });
	expect(await refused(more)).toMatchObject({
		code: "RowsUntouched",
		message: expect.stringMatching(
			/2 of 2 rows of table .* weren't inserted, as rule guard may have it/,
		),
	});
	await sql("DROP RULE guard ON webhooks.orders_p20260301");
	await loaded(await daysOf({ [first]: 5, [second]: 3 }));
	expect(await ids()).toHaveLength(8);
});

test("a Run that empties a day ends with an error if a policy on its partition may hide rows", async () => {
	const { daysOf, refused, sql } = await sceneOf();
	await sql(
		"ALTER TABLE webhooks.orders_p20260301 ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
	);
	expect(await refused(await daysOf({ [first]: 0 }))).toMatchObject({
		code: "RowsHidden",
		message: expect.stringContaining("orders_p20260301"),
	});
});

test("a table whose rows a policy hides isn't taken for an empty one", async () => {
	const { daysOf, load, sql, user } = await postgresBeside(server());
	await sql(
		`CREATE TABLE webhooks.orders (event_id text, timestamp timestamptz, body text, date date) PARTITION BY RANGE (date);
		CREATE TABLE webhooks.mine PARTITION OF webhooks.orders FOR VALUES FROM ('${first}') TO ('${second}');
		INSERT INTO webhooks.orders VALUES ('mine', now(), '{}', '${first}');
		ALTER TABLE webhooks.orders ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
		ALTER TABLE webhooks.orders OWNER TO ${user}; ALTER TABLE webhooks.mine OWNER TO ${user}`,
	);
	const { result } = await load(await daysOf({ [first]: 1 }));
	expect(result).toMatchObject({ error: { code: "TableNotOurs" } });
	expect(await sql("SELECT event_id FROM webhooks.orders")).toEqual([["mine"]]);
});

/** What a person deletes is found by the next Run, which replaces the day. */
async function repaired(before: string) {
	const { daysOf, erasure, loaded, sql } = await postgresBeside(server());
	const days = await daysOf({ [first]: 3 });
	await loaded(days);
	await sql(before);
	await loaded(days);
	const adding = { adds: true as const };
	expect(await loaded(days, adding)).not.toHaveProperty("repairedDates");
	await sql(`DELETE FROM webhooks.orders WHERE event_id = '${first}-a-1'`);
	await sql("SELECT pg_stat_force_next_flush()");
	expect(await loaded(days, adding)).toMatchObject({ repairedDates: [first] });
	expect(await sql("SELECT count(*) FROM webhooks.orders")).toEqual([["3"]]);
	expect(await loaded(await erasure(one))).toMatchObject({ erasedRows: 1 });
}

test("what a person deletes is found on a day that is partitioned further, and an Erase reaches it", () =>
	repaired(
		`CREATE TABLE webhooks.further (LIKE webhooks.orders) PARTITION BY HASH (event_id);
		CREATE TABLE webhooks.all_of_it PARTITION OF webhooks.further FOR VALUES WITH (MODULUS 1, REMAINDER 0);
		DROP TABLE webhooks.orders_p20260301;
		DO $$ DECLARE owner text := (SELECT relowner::regrole FROM pg_class WHERE oid = 'webhooks.orders'::regclass); BEGIN
			EXECUTE format('ALTER TABLE webhooks.further OWNER TO %s', owner); EXECUTE format('ALTER TABLE webhooks.all_of_it OWNER TO %s', owner); END $$;
		ALTER TABLE webhooks.orders ATTACH PARTITION webhooks.further FOR VALUES FROM ('${first}') TO ('${second}')`,
	));

test("what a person deletes is found where the server counts no changes", () =>
	repaired(
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_counts = off', current_database()); END $$",
	));

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

/* A reload changes the rows that differ, and nothing else. */

const server = postgresOfFile();

const date = "2026-03-01";
const orders = "webhooks.orders";

const tableOf = (
	columns: readonly TableColumn[],
	options?: object,
): Partial<LoadInput> => ({
	table: {
		...{ name: "orders", description: "", columns: [...columns] },
		...(options && { options }),
	},
});

const amount: TableColumn = {
	name: "amount",
	from: { bodyPointer: "/amount", type: "Integer" },
};
const byWhom: TableColumn[] = [
	{ name: "loaded_at", from: "LoadedAt" },
	{ name: "run", from: "Run" },
];
const whole = columns.filter(({ from }) => from !== "Date");
const fullReload = (...more: TableColumn[]): Partial<LoadInput> => ({
	...tableOf([...whole, ...more]),
	strategy: "FullReload",
});

/** A day of events, each with its name and an amount. */
const dayOf = (amounts: Record<string, number | string>) =>
	Object.entries(amounts).map(([name, amount]) => ({
		event_id: name,
		timestampMs: Date.parse(`${date}T10:00:00Z`),
		body: `{"amount":${amount}}`,
	}));

async function sceneOf() {
	const fixture = await postgresFixture(server());
	const manifestOf = (amounts: Record<string, number | string>) =>
		fixture.manifest({ [date]: [dayOf(amounts)] });
	/** What tells one version of a row from another, by its event. */
	const versions = async () =>
		Object.fromEntries(
			await fixture.sql(
				`SELECT string_agg(event_id, ' '), concat_ws(' ', xmin, ctid) FROM ${orders} GROUP BY tableoid, ctid, xmin ORDER BY 1`,
			),
		) as Record<string, string>;
	/** Notes which statements run on a relation, also those that change no row. */
	const watch = (relation: string) =>
		fixture.sql(
			`CREATE TABLE IF NOT EXISTS webhooks.seen (what text); GRANT INSERT ON webhooks.seen TO PUBLIC;
			CREATE OR REPLACE FUNCTION webhooks.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO webhooks.seen VALUES (TG_OP); RETURN NULL; END $$;
			CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON ${relation} FOR EACH STATEMENT EXECUTE FUNCTION webhooks.see()`,
		);
	const seen = async () => (await fixture.sql("TABLE webhooks.seen")).flat();
	return { ...fixture, manifestOf, versions, watch, seen };
}

test.each([
	[
		"a day",
		"webhooks.orders_p20260301",
		(): Partial<LoadInput> => tableOf([...columns, ...byWhom]),
	],
	["a table without dates", orders, () => fullReload(...byWhom)],
])(
	"of %s, rows that differ are updated, those that are gone are deleted and those that are missing come, and no statement changes nothing",
	async (_, relation, inputOf) => {
		const { sql, versions, watch, seen, ...scene } = await sceneOf();
		const load = async (amounts: Record<string, number>, name: string) => {
			const days = await scene.manifestOf(amounts);
			const run = { name, uid: days.run, account: "shop", pipeline: "p" };
			const end = await scene.load(days, { input: { ...inputOf(), run } });
			expect(end.exitCode, end.log).toBe(0);
			return end.log;
		};
		const first = { stays: 1, also: 1, changes: 1, goes: 1 };
		await load(first, "one");
		await watch(relation);
		const before = await versions();
		await load(first, "two");
		expect(await seen()).toEqual([]);
		expect(await versions()).toEqual(before);
		expect(
			await load({ comes: 1, changes: 2, also: 1, stays: 1 }, "three"),
		).toMatch(/"besideBytes":\d{4}/);
		expect(await seen()).toEqual(["DELETE", "UPDATE", "INSERT"]);
		const { stays, also } = await versions();
		expect({ stays, also }).toEqual({ stays: before.stays, also: before.also });
		expect(
			await sql(
				`SELECT event_id, body, run, count(loaded_at) FROM ${orders} GROUP BY 1, 2, 3 ORDER BY 1`,
			),
		).toEqual([
			["also", '{"amount":1}', "one", "1"],
			["changes", '{"amount":2}', "three", "1"],
			["comes", '{"amount":1}', "three", "1"],
			["stays", '{"amount":1}', "one", "1"],
		]);
	},
);

test("equal means equal bytes: what jsonb calls equal is put right", async () => {
	const { manifestOf, loaded, sql, versions } = await sceneOf();
	const days = await manifestOf({ a: "1.10", b: "1.10" });
	const input = tableOf(columns, { bodyType: "jsonb" });
	await loaded(days, input);
	const before = await versions();
	await sql(
		`UPDATE ${orders} SET body = '{"amount": 1.1}' WHERE event_id = 'a'`,
	);
	await loaded(days, input);
	expect(await sql(`SELECT body FROM ${orders}`)).toEqual([
		['{"amount": 1.10}'],
		['{"amount": 1.10}'],
	]);
	const after = await versions();
	expect(after.b).toBe(before.b);
	expect(after.a).not.toBe(before.a);
});

test("a day that changes nothing writes hardly anything into the server's log", async () => {
	const { manifest, loaded, sql } = await sceneOf();
	const days = await manifest({
		[date]: [eventsOf(date, 20_000, "x".repeat(400))],
	});
	const written = async (work: () => Promise<unknown>) => {
		const at = "SELECT pg_current_wal_insert_lsn() - '0/0'";
		const before = Number(await sql(at));
		await work();
		return Number(await sql(at)) - before;
	};
	const first = await written(() => loaded(days));
	// Whoever reads rows first notes on their pages that they are committed, which a server with checksums logs.
	await sql(`SELECT count(*) FROM ${orders}`);
	expect(await written(() => loaded(days))).toBeLessThan(first / 20);
});

test("a row of an event that changed has nothing of the former one in anybody's column, and one that stays keeps it", async () => {
	const { manifestOf, loaded, sql } = await sceneOf();
	await loaded(await manifestOf({ a: 1, b: 1 }));
	await sql(
		`ALTER TABLE ${orders} ADD note text DEFAULT 'none'; UPDATE ${orders} SET note = 'of ' || event_id`,
	);
	await loaded(await manifestOf({ a: 1, b: 2 }));
	expect(await sql(`SELECT event_id, note FROM ${orders} ORDER BY 1`)).toEqual([
		["a", "of a"],
		["b", "none"],
	]);
});

test("without a column of ids, or with an id twice, equal rows stay by their number", async () => {
	const { manifestOf, loaded, sql } = await sceneOf();
	await loaded(await manifestOf({ a: 1, b: 1 }));
	await sql(
		`INSERT INTO ${orders} SELECT * FROM ${orders}; INSERT INTO ${orders} SELECT event_id, timestamp, 'mine', date FROM ${orders} WHERE event_id = 'b'`,
	);
	await loaded(await manifestOf({ a: 1, b: 1 }));
	expect(
		await sql(
			`SELECT event_id, count(*), max(body) FROM ${orders} GROUP BY 1 ORDER BY 1`,
		),
	).toEqual([
		["a", "1", '{"amount":1}'],
		["b", "1", '{"amount":1}'],
	]);
	const without = tableOf([
		...columns.filter(({ from }) => from !== "EventID" && from !== "Timestamp"),
	]);
	await sql("DROP TABLE webhooks.orders");
	await loaded(await manifestOf({ a: 1, b: 1, c: 2, d: 3 }), without);
	const rows = async () =>
		(await sql(
			`SELECT body, concat_ws(' ', xmin, ctid) FROM ${orders} ORDER BY 1, 2`,
		)) as [string, string][];
	const before = await rows();
	await loaded(await manifestOf({ a: 1, b: 2, c: 2, d: 3 }), without);
	const after = await rows();
	expect(after.map(([body]) => body)).toEqual(
		[1, 2, 2, 3].map((amount) => `{"amount":${amount}}`),
	);
	expect(
		after.filter((row) => before.some((one) => String(one) === String(row))),
	).toHaveLength(3);
});

const exchanging: [how: string, sql: string, end: string | undefined][] = [
	["beside nothing", "", undefined],
	[
		"that a foreign key refers to, with a constraint that waits",
		"DEFERRABLE",
		undefined,
	],
	[
		"that a foreign key refers to, with a constraint that doesn't wait",
		"",
		"RowsRefused",
	],
];
test.each(exchanging)(
	"rows that exchange a unique value, %s",
	async (how, deferrable, code) => {
		const { manifestOf, load, loaded, sql, user } = await sceneOf();
		const input = fullReload(amount);
		await loaded(await manifestOf({ a: 1, b: 2, c: 3 }), input);
		await sql(
			`ALTER TABLE ${orders} ADD CONSTRAINT one_amount UNIQUE (amount) ${deferrable}, ADD CONSTRAINT one_event UNIQUE (event_id)`,
		);
		const isReferred = how.includes("foreign key");
		if (isReferred)
			await sql(
				`CREATE TABLE webhooks.notes (event_id text REFERENCES ${orders} (event_id) ON DELETE CASCADE); INSERT INTO webhooks.notes VALUES ('a'), ('b');
				ALTER TABLE webhooks.notes OWNER TO ${user}`,
			);
		const next = await manifestOf({ a: 2, b: 1, c: 3 });
		const amounts = async () =>
			(await sql(`SELECT amount FROM ${orders} ORDER BY event_id`)).flat();
		if (code === undefined) {
			await loaded(next, input);
			expect(await amounts()).toEqual(["2", "1", "3"]);
		} else {
			const { result } = await load(next, { input });
			expect(result).toMatchObject({
				error: {
					code,
					message: expect.stringMatching(/one_amount.*DEFERRABLE/s),
				},
			});
			expect(await amounts()).toEqual(["1", "2", "3"]);
		}
		if (isReferred)
			expect(await sql("SELECT count(*) FROM webhooks.notes")).toEqual([["2"]]);
	},
);

test("a row that somebody changed and changed back is no repaired date for ever, nor are those that stay", async () => {
	const { manifest, loaded, sql } = await sceneOf();
	const days = await manifest({ [date]: [eventsOf(date, 3, "a")] });
	const scheduled = () => loaded(days, { adds: true });
	await loaded(days);
	await sql(`UPDATE ${orders} SET body = '' || body WHERE event_id LIKE '%-1'`);
	// By hand, so that it looks at the rows.
	await loaded(days);
	await sql("SELECT pg_stat_reset()");
	for (let times = 0; times < 2; times++) {
		const result = await scheduled();
		expect(result).toMatchObject({ unchangedDates: 1 });
		expect(result).not.toHaveProperty("repairedDates");
	}
	await sql(`UPDATE ${orders} SET body = 'mine' WHERE event_id LIKE '%-1'`);
	await sql("SELECT pg_stat_reset()");
	expect(await scheduled()).toMatchObject({ repairedDates: [date] });
	expect(
		await sql(`SELECT count(*) FROM ${orders} WHERE body = 'mine'`),
	).toEqual([["0"]]);
});

test("beside a foreign key with CASCADE, also columns that are filled in another way leave what refers to the rows", async () => {
	const { manifestOf, loaded, sql, user } = await sceneOf();
	const days = await manifestOf({ a: 1, b: 2 });
	await loaded(days);
	await sql(
		`ALTER TABLE ${orders} ADD CONSTRAINT once UNIQUE (event_id, date);
		CREATE TABLE webhooks.notes (event_id text, date date, FOREIGN KEY (event_id, date) REFERENCES ${orders} (event_id, date) ON DELETE CASCADE);
		ALTER TABLE webhooks.notes OWNER TO ${user}; INSERT INTO webhooks.notes SELECT event_id, date FROM ${orders}`,
	);
	await loaded(days, tableOf([...columns, amount]));
	expect(
		await sql(
			`SELECT (SELECT count(*) FROM webhooks.notes), (SELECT sum(amount) FROM ${orders})`,
		),
	).toEqual([["2", "3"]]);
});

test("while a reload of a table compares, somebody's change of a row is neither lost nor in the way", async () => {
	const { manifestOf, loaded, sql, database } = await sceneOf();
	await loaded(await manifestOf({ a: 1, b: 1 }));
	const other = await server().connect(database);
	onTestFinished(() => other.end());
	await other.query(
		`BEGIN; UPDATE ${orders} SET body = 'mine' WHERE event_id = 'a'`,
	);
	const run = loaded(await manifestOf({ a: 2, b: 1 }));
	await vi.waitFor(
		async () =>
			expect(await sql("SELECT FROM pg_locks WHERE NOT granted")).toHaveLength(
				1,
			),
		{ timeout: 60_000, interval: 20 },
	);
	await other.query("COMMIT");
	await run;
	expect(await sql(`SELECT body FROM ${orders} ORDER BY event_id`)).toEqual([
		['{"amount":2}'],
		['{"amount":1}'],
	]);
});

/** All that is known of the table itself, but for its rows. */
const guards = `SELECT pg_get_userbyid(relowner), relrowsecurity, relforcerowsecurity, relreplident,
	(SELECT array_agg(acl::text ORDER BY acl::text) FROM aclexplode(coalesce(relacl, acldefault('r', relowner))) AS acl)::text,
	(SELECT string_agg(stxname || pg_get_statisticsobjdef(s.oid), ';') FROM pg_statistic_ext s WHERE stxrelid = c.oid),
	(SELECT attstattarget FROM pg_attribute WHERE attrelid = c.oid AND attname = 'body'),
	(SELECT string_agg(attoptions::text, ';') FROM pg_attribute WHERE attrelid = c.oid)
	FROM pg_class c WHERE oid = '${orders}'::regclass`;

const guarded = (user: string, database: string) =>
	`CREATE ROLE team_${database}; GRANT team_${database} TO ${user}; GRANT USAGE, CREATE ON SCHEMA webhooks TO team_${database};
	ALTER TABLE ${orders} ENABLE ROW LEVEL SECURITY, REPLICA IDENTITY FULL, ALTER body SET STATISTICS 500, ALTER event_id SET (n_distinct = -1);
	CREATE STATISTICS webhooks.both (ndistinct) ON event_id, body FROM ${orders};
	ALTER TABLE ${orders} OWNER TO team_${database}; ALTER STATISTICS webhooks.both SET STATISTICS 700`;

test.each([
	["one of its rows", { a: 1 }],
	["all of its rows", {}],
])(
	"a full reload ends with an error if a trigger keeps %s, and the table is the old one",
	async (_, left) => {
		const { sql, load, manifest } = await sceneOf();
		const loadOf = async (amounts: Record<string, number>) => {
			const days = dayOf(amounts);
			const files = days.length > 0 ? [days] : [];
			const input = fullReload();
			return load(await manifest({ [date]: files }), { input });
		};
		expect((await loadOf({ a: 1, b: 1 })).exitCode).toBe(0);
		await sql(
			`CREATE FUNCTION webhooks.keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
			CREATE TRIGGER keep BEFORE DELETE ON ${orders} FOR EACH ROW EXECUTE FUNCTION webhooks.keep()`,
		);
		const { result } = await loadOf(left);
		expect(result).toMatchObject({ error: { code: "RowsUntouched" } });
		expect(await sql(`SELECT event_id FROM ${orders} ORDER BY 1`)).toEqual([
			["a"],
			["b"],
		]);
	},
);

test("a full reload keeps the table with its guards, and what stands beside it", async () => {
	const { manifestOf, loaded, sql, user, database } = await sceneOf();
	await loaded(await manifestOf({ a: 1, b: 1 }), fullReload());
	await sql(guarded(user, database));
	await sql(
		`CREATE VIEW webhooks.mine AS SELECT * FROM ${orders}; CREATE PUBLICATION named FOR TABLE ${orders};
		CREATE POLICY everything ON ${orders} USING (true); CREATE INDEX by_body ON ${orders} (body)`,
	);
	const facts = () =>
		sql(
			`${guards} UNION ALL SELECT '${orders}'::regclass::oid::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL`,
		);
	const before = await facts();
	await loaded(await manifestOf({ a: 1, b: 2 }), fullReload(amount));
	expect(await facts()).toEqual(before);
	expect(
		await sql(
			`SELECT (SELECT count(*) FROM webhooks.mine), (SELECT sum(amount) FROM ${orders})`,
		),
	).toEqual([["2", "3"]]);
});

test("a rebuild carries over owner, rights, row security, statistics and replica identity, and is refused by an identity column", async () => {
	const { manifestOf, load, loaded, sql, user, database } = await sceneOf();
	const days = await manifestOf({ a: 1, b: 1 });
	await loaded(days, tableOf([...columns, amount]));
	await sql(guarded(user, database));
	// A new table has these rights, and the old one hasn't.
	await sql(
		`ALTER DEFAULT PRIVILEGES FOR ROLE ${user} GRANT SELECT ON TABLES TO PUBLIC`,
	);
	const before = await sql(guards);
	const retyped: Partial<LoadInput> = {
		...tableOf([
			...columns,
			{ name: "amount", from: { bodyPointer: "/amount", type: "String" } },
		]),
		rebuild: true,
	};
	await loaded(days, retyped);
	expect(await sql(guards)).toEqual(before);
	expect(
		await sql(
			"SELECT relrowsecurity, relreplident FROM pg_class WHERE relname = 'orders_p20260301'",
		),
	).toEqual([["t", "f"]]);
	await sql(
		`ALTER TABLE ${orders} ADD number bigint GENERATED ALWAYS AS IDENTITY`,
	);
	const { result } = await load(days, {
		input: { ...tableOf([...columns, amount]), rebuild: true },
	});
	expect(result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringContaining("identity column number"),
		},
	});
});

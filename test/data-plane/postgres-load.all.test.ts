import { randomBytes } from "node:crypto";
import { chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
	afterAll,
	afterEach,
	beforeAll,
	expect,
	onTestFinished,
	test,
	vi,
} from "vitest";
import type { BodyValueType, LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { memoryDisk } from "../support/faults/loop-disk.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";
import { postgresFixture } from "../support/fixtures/data-plane/postgres-fixture.ts";
import {
	isRoot,
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
	server = await startPostgres();
});
afterAll(() => server?.stop());
afterEach(() => void vi.unstubAllEnvs());

const perDate =
	"SELECT date, count(*), count(DISTINCT event_id) FROM webhooks.orders GROUP BY date ORDER BY date";

test("a Run makes a table with a partition for each day, and the next one adds what is new", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const first = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
		"2026-03-02": [eventsOf("2026-03-02", 2, "b")],
	});
	const end = await load(first);
	expect(end.exitCode, end.log).toBe(0);
	expect(await sql(perDate)).toEqual([
		["2026-03-01", "3", "3"],
		["2026-03-02", "2", "2"],
	]);
	expect(
		await sql(
			"SELECT relid::text FROM pg_partition_tree('webhooks.orders') WHERE isleaf ORDER BY 1",
		),
	).toEqual([["webhooks.orders_p20260301"], ["webhooks.orders_p20260302"]]);
});

test("a Run that adds reads no row of a day that nobody has changed, and counts what is beside its dates all the same", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const ofDay = async (tag: string, rows: number) =>
		manifest({ "2026-03-02": [eventsOf("2026-03-02", rows, tag)] });
	let second = 0;
	const loaded = async (days: Manifest) => {
		const snapshotTime = `2026-03-03T12:00:0${second++}.000Z`;
		const end = await load(
			{ ...days, run: crypto.randomUUID(), snapshotTime },
			{ input: { adds: true } },
		);
		expect(end.exitCode, end.log).toBe(0);
		return end.result;
	};
	const read = async (rows: number): Promise<number> => {
		const [stats] = await vi.waitFor(async () => {
			const found = await sql(
				"SELECT sum(n_tup_ins), sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'orders\\_p%'",
			);
			// A connection says what it did at its end.
			expect(Number(found[0]![0])).toBe(rows);
			return found;
		});
		return Number(stats![1]);
	};
	await loaded(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 3_000, "old")] }),
	);
	const day = await ofDay("a", 3_000);
	expect(await loaded(day)).toMatchObject({ rows: 3_000, otherRows: 3_000 });
	const before = await read(6_000);
	const [more] = (await ofDay("b", 10)).dates;
	const [known] = day.dates;
	const both: Manifest = {
		...day,
		dates: [
			{
				...known!,
				rows: 3_010,
				objects: [...known!.objects, ...more!.objects],
			},
		],
	};
	expect(await loaded(both)).toMatchObject({ addedRows: 10, otherRows: 3_000 });
	expect((await read(6_010)) - before).toBeLessThan(100);
	await sql("DELETE FROM webhooks.orders_p20260301 WHERE event_id LIKE '%-7'");
	const [[left] = []] = await sql(
		"SELECT count(*) FROM webhooks.orders_p20260301",
	);
	expect(await loaded(both)).toMatchObject({ otherRows: Number(left) });
});

test("a day of long ago is added to like any other, and what somebody changed in it is found, though the record has one entry for it", async () => {
	const { manifest, load, sql, database } = await postgresFixture(server);
	const [date, today] = ["2026-01-01", "2026-06-01"];
	const table = {
		...{ name: "orders", description: "" },
		columns: [
			...columns,
			{ name: "tag", from: { bodyPointer: "/tag", type: "Integer" as const } },
		],
	};
	let last: Manifest | undefined;
	/** A scheduled Run of all that was there before and of three events more on one of its dates. */
	const add = async (on: string, tag: string, dates = [on]) => {
		const [more] = (await manifest({ [on]: [eventsOf(on, 3, tag)] })).dates;
		const days = new Map(last?.dates.map((day) => [day.date, day]));
		const { rows = 0, objects = [] } = days.get(on) ?? {};
		days.set(on, {
			...{ date: on, rows: rows + 3 },
			objects: [...objects, ...more!.objects],
		});
		last = {
			...(await manifest({})),
			snapshotTime: `${dates.at(-1)}T12:00:00.000Z`,
			dates: [...days.values()],
		};
		const end = await load(
			{
				...last,
				run: crypto.randomUUID(),
				dates: last.dates.filter((day) => dates.includes(day.date)),
			},
			{ input: { adds: true, table } },
		);
		expect(end.exitCode, end.log).toBe(0);
		return end.result;
	};
	const record = () =>
		sql(
			"SELECT count(*), sum(rows), sum(cardinality(objects)), max(1 + cardinality(xids)) FROM webhooks._tidemill_loads WHERE date = '2026-01-01'",
		);
	await add(date!, "a");
	// As an earlier build made it.
	await sql("ALTER TABLE webhooks._tidemill_loads DROP COLUMN xids");
	expect(await add(date!, "b")).toMatchObject({ addedRows: 3 });
	await add(date!, "c");
	expect(await record()).toEqual([["3", "9", "3", null]]);
	await add(today!, "d");
	expect(await record()).toEqual([["1", "9", "3", "3"]]);
	// What Postgres counted is lost by a crash, too. The rows' transactions tell then.
	await server.rows("SELECT pg_stat_reset()", database);
	const added = await add(date!, "e", [date!, today!]);
	expect(added).toMatchObject({
		...{ addedRows: 3, unchangedDates: 1 },
		unfitValues: [{ column: "tag", rows: 15 }],
	});
	expect(added).not.toHaveProperty("repairedDates");
	await add(today!, "f");
	expect(await record()).toEqual([["1", "12", "4", "4"]]);
	await sql("UPDATE webhooks.orders SET body = '' WHERE event_id LIKE '%-b-1'");
	await vi.waitFor(async () =>
		expect(
			await sql(
				"SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'orders_p20260101'",
			),
		).toEqual([["1"]]),
	);
	expect(await add(date!, "g", [date!, today!])).toMatchObject({
		repairedDates: [date],
	});
	expect(await sql(perDate)).toEqual([
		[date, "15", "15"],
		[today, "6", "6"],
	]);
	expect(
		await sql("SELECT count(*) FROM webhooks.orders WHERE body = ''"),
	).toEqual([["0"]]);
});

test("a full reload replaces the table at once, and keeps what people gave to it", async () => {
	const { manifest, load, sql, database } = await postgresFixture(server);
	const input: Partial<LoadInput> = {
		strategy: "FullReload",
		table: {
			name: "orders",
			columns: columns.filter(({ from }) => from !== "Date"),
			description: "Events of shop",
		},
	};
	const first = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
	});
	const end = await load(first, { input });
	expect(end.exitCode, end.log).toBe(0);
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
	const second = await manifest({
		"2026-03-02": [eventsOf("2026-03-02", 5, "b")],
	});
	const again = await load(second, { input });
	expect(again.exitCode, again.log).toBe(0);
	expect(
		await sql(
			"SELECT count(*), min(timestamp) = '2026-03-02 00:00Z' FROM webhooks.orders",
		),
	).toEqual([["5", "t"]]);
	expect(await facts()).toEqual(before);
	await sql("CREATE VIEW webhooks.recent AS SELECT * FROM webhooks.orders");
	const refused = await load(second, { input });
	expect(refused.result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringContaining("view webhooks.recent"),
		},
	});
	expect(await sql("SELECT count(*) FROM webhooks.recent")).toEqual([["5"]]);
});

test("a full reload keeps the grants on the view of latest rows and the views of it, and a table that isn't for Tidemill's eyes stops no Run", async () => {
	const { manifest, load, sql, database } = await postgresFixture(server);
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
	const days = await manifest({
		"2026-03-01": [eventsOf("2026-03-01", 3, "a")],
	});
	const loaded = async (input: Partial<LoadInput>) => {
		const end = await load({ ...days, run: crypto.randomUUID() }, { input });
		expect(end.exitCode, end.log).toBe(0);
	};
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
	const refused = await load(days, { input: inputOf(["id"], "String") });
	expect(refused.result).toMatchObject({
		error: {
			code: "TableInUse",
			message: expect.stringContaining("view webhooks.mine"),
		},
	});
	await sql("DROP VIEW webhooks.mine");
	await loaded(inputOf(["id"], "String"));
	await sql("CREATE VIEW webhooks.mine AS SELECT 1 AS one");
	expect((await facts())[0]![0]).toBe(before[0]![0]);
	await sql(
		`DROP VIEW webhooks.orders_latest; CREATE TABLE webhooks.orders_latest (); ALTER TABLE webhooks.orders_latest OWNER TO viewer_${database}`,
	);
	await loaded(inputOf([]));
});

const odd: [what: string, json: string, fits: boolean][] = [
	["an object", '{"a": [1, "\\u00e9"], "b": 1.50}', true],
	["NUL", '{"a":"\\u0000"}', false],
	["a backslash before u0000", '{"a":"\\\\u0000"}', true],
	["half a pair", '"\\ud800"', false],
	["the other half", '"\\udc00x"', false],
	["a pair", '"\\ud83d\\ude00"', true],
	["a number beyond numeric", "1e200000", false],
	["a number of numeric", "1e131000", true],
	["a number too near to 0", "1e-20000", false],
	["deep", `${"[".repeat(900)}${"]".repeat(900)}`, true],
	["too deep", `${"[".repeat(20_000)}${"]".repeat(20_000)}`, false],
	[
		"too deep, beside others",
		`${"[[],".repeat(20_000)}1${"]".repeat(20_000)}`,
		false,
	],
	["tabs and line ends", '{\t"a":\r\n"\\t\\n"}', true],
];

test("a body is jsonb by choice; what jsonb can't hold is NULL and counted, and so is a text with NUL", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
			options: { bodyType: "jsonb", indexes: [["a", "date"]] },
		},
		rejectedTable: { name: "orders_rejected", description: "" },
	};
	const events = odd.map(([, body], index) => ({
		event_id: `e${String(index).padStart(2, "0")}`,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body,
	}));
	const end = await load(await manifest({ "2026-03-01": [events] }), { input });
	expect(end.exitCode, end.log).toBe(0);
	expect(
		(
			await sql(
				"SELECT body IS NOT NULL FROM webhooks.orders ORDER BY event_id",
			)
		).map(([fits], index) => [odd[index]![0], fits === "t"]),
	).toEqual(odd.map(([what, , fits]) => [what, fits]));
	expect(end.result).toMatchObject({
		unfitValues: expect.arrayContaining([
			expect.objectContaining({
				column: "body",
				rows: odd.filter(([, , fits]) => !fits).length,
				values: odd.length,
			}),
			// An array is no text, and one text has NUL.
			expect.objectContaining({ column: "a", rows: 2 }),
		]),
	});
	const rejected = await sql(
		"SELECT event_id, column_name, value, reason FROM webhooks.orders_rejected ORDER BY event_id, column_name",
	);
	expect(
		rejected.filter(([, column]) => column === "body").map(([id]) => id),
	).toEqual(
		odd.flatMap(([, , fits], index) => (fits ? [] : events[index]!.event_id)),
	);
	expect(rejected).toContainEqual([
		expect.any(String),
		"a",
		expect.stringContaining("\\u0000"),
		"Postgres' text can't hold \\u0000.",
	]);
	expect(
		await sql(
			"SELECT count(*) FROM pg_indexes WHERE schemaname = 'webhooks' AND indexdef LIKE '%(a, date)'",
		),
	).toEqual([["2"]]);
});

test.each(["by hand", "in the Pipeline"])(
	"after a table was renamed %s, the new one has the Pipeline's indexes, too, and once",
	async (how) => {
		const { manifest, load, sql } = await postgresFixture(server);
		const inputOf = (name: string): Partial<LoadInput> => ({
			table: {
				...{ name, description: "", columns },
				options: { indexes: [["event_id", "date"], ["date"]] },
			},
		});
		const days = await manifest({
			"2026-03-01": [
				[{ event_id: "e1", timestampMs: Date.UTC(2026, 2, 1), body: "{}" }],
			],
		});
		const loaded = async (input: Partial<LoadInput>) => {
			const next = { ...days, run: crypto.randomUUID() };
			const end = await load(next, { input });
			expect(end.exitCode, end.log).toBe(0);
		};
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

test("what Postgres can't hold counts of the events that a filter wants, too", async () => {
	const { manifest, load } = await postgresFixture(server);
	const events = ["yes", "no"].map((keep, index) => ({
		event_id: keep,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body: JSON.stringify({ keep, a: "\0" }),
	}));
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
		},
		filter: { match: { bodyPointer: "/keep", equals: "yes" } },
	};
	const end = await load(await manifest({ "2026-03-01": [events] }), { input });
	expect(end.exitCode, end.log).toBe(0);
	expect(end.result).toMatchObject({
		rows: 1,
		unfitValues: [{ column: "a", rows: 1, eventID: "yes" }],
	});
});

test("a value that Postgres refuses for its size is named by its event and column, and nothing changes", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				{ name: "a", from: { bodyPointer: "/a", type: "String" } },
			],
			options: { indexes: [["a"]] },
		},
	};
	const event = (event_id: string, a: string) => ({
		event_id,
		timestampMs: Date.UTC(2026, 2, 1),
		body: JSON.stringify({
			a,
			pad: "x".repeat(event_id === "e1" ? 90_000 : 1),
		}),
	});
	// An entry of an index has at most a third of a page, and this can't be compressed.
	const long = randomBytes(30_000).toString("base64");
	const refused = async (...events: ReturnType<typeof event>[]) => {
		const { result } = await load(await manifest({ "2026-03-01": [events] }), {
			input,
		});
		expect(result).toMatchObject({
			outcome: "Failed",
			error: {
				code: "PostgresRefused",
				message: expect.stringMatching(
					/54000.*The largest value has 40000 bytes, in column "a" of event e2\./,
				),
			},
		});
	};
	// A day that is attached, and one that is filled in its place.
	await refused(event("e1", "short"), event("e2", long));
	const fits = await manifest({ "2026-03-01": [[event("e1", "short")]] });
	expect((await load(fits, { input })).exitCode).toBe(0);
	await refused(event("e1", "short"), event("e2", long));
	expect(await sql("SELECT event_id FROM webhooks.orders")).toEqual([["e1"]]);
});

test("a typed column has the value that was written, to the last digit and at the type's limits", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const decimal = (precision: number, scale: number) =>
		({ type: "Decimal", precision, scale }) as const;
	const tried: [type: BodyValueType, written: string[], stored?: string[]][] = [
		[decimal(1, 0), ["-9", "0", "7"]],
		[decimal(1, 1), ["-0.9", "0.0", "0.1"]],
		[decimal(5, 2), ["-999.99", "0.01", "100.00"]],
		[decimal(9, 4), ["-10000.0001", "99999.9999", "0.0000"]],
		[decimal(10, 9), ["0.000000001", "-1.000000000", "9.999999999"]],
		[decimal(38, 0), [`-${"9".repeat(38)}`, "10000", "100000000"]],
		[decimal(38, 38), [`-0.${"9".repeat(38)}`, `0.${"0".repeat(37)}1`]],
		[
			decimal(38, 9),
			[`${"9".repeat(29)}.999999999`, "-12345678.000000001", "-0.5"],
			[`${"9".repeat(29)}.999999999`, "-12345678.000000001", "-0.500000000"],
		],
		[
			{ type: "Integer" },
			["-9223372036854775808", "9223372036854775807", "-1", "0"],
		],
		[
			{ type: "Number" },
			["5e-324", "-1.7976931348623157e+308", "0.1", "-0.0"],
			["5e-324", "-1.7976931348623157e+308", "0.1", "-0"],
		],
		[{ type: "Boolean" }, ["true", "false"]],
		[
			{ type: "Date" },
			['"0001-01-01"', '"1999-12-31"', '"2000-01-01"', '"9999-12-31"'],
			["0001-01-01", "1999-12-31", "2000-01-01", "9999-12-31"],
		],
		[
			{ type: "Timestamp" },
			['"0001-01-01T00:00:00Z"', '"1999-12-31T23:59:59.999999Z"'],
			["0001-01-01 00:00:00+00", "1999-12-31 23:59:59.999999+00"],
		],
		[
			{ type: "JSON" },
			['{"a": "\\u20ac €"}', "[]", '"x"', "1e3"],
			['{"a": "€ €"}', "[]", '"x"', "1000"],
		],
		[{ type: "String" }, ['""', '"ü 😀"', '"\\\\N"'], ["", "ü 😀", "\\N"]],
	];
	const events = Array.from({ length: 5 }, (_, row) => ({
		event_id: `e${row}`,
		timestampMs: Date.UTC(2026, 2, 1) + row,
		body: `{${tried
			.flatMap(([, written], column) =>
				written[row] === undefined ? [] : `"v${column}":${written[row]}`,
			)
			.join(",")}}`,
	}));
	const input: Partial<LoadInput> = {
		table: {
			name: "orders",
			description: "",
			columns: [
				...columns,
				...tried.map(([type], column) => ({
					name: `v${column}`,
					from: { bodyPointer: `/v${column}`, ...type },
				})),
			],
		},
	};
	const end = await load(await manifest({ "2026-03-01": [events] }), { input });
	expect(end.exitCode, end.log).toBe(0);
	const texts = tried.map((_, column) => `v${column}::text`).join(", ");
	const found = await sql(
		`SET TimeZone = 'UTC'; SELECT ${texts} FROM webhooks.orders ORDER BY event_id`,
	);
	for (const [column, [type, written, stored = written]] of tried.entries())
		expect(
			found.map((row) => row[column]),
			JSON.stringify(type),
		).toEqual(Array.from({ length: 5 }, (_, row) => stored[row] ?? null));
	expect(
		await sql(
			"SELECT timestamp = to_timestamp(1772323200.004), date FROM webhooks.orders WHERE event_id = 'e4'",
		),
	).toEqual([["t", "2026-03-01"]]);
});

test("a body of text is byte for byte what was sent", async () => {
	const { manifest, load, sql } = await postgresFixture(server);
	const bodies = [
		...odd.map(([, body]) => body),
		'"\\N"',
		'"back\\\\slash"',
		'{"a":"\\\\."}',
		'" ü \u2028 😀 "',
		"\\N",
		"",
	];
	const events = bodies.map((body, index) => ({
		event_id: `e${String(index).padStart(2, "0")}`,
		timestampMs: Date.UTC(2026, 2, 1) + index,
		body,
	}));
	const end = await load(await manifest({ "2026-03-01": [events] }));
	expect(end.exitCode, end.log).toBe(0);
	expect(
		(await sql("SELECT body FROM webhooks.orders ORDER BY event_id")).flat(),
	).toEqual(bodies);
});

test("a REPEATABLE READ transaction counts the old day after a Run has replaced it, and no new one", async () => {
	const { manifest, load, database } = await postgresFixture(server);
	const end = await load(
		await manifest({ "2026-03-01": [eventsOf("2026-03-01", 3, "a")] }),
	);
	expect(end.exitCode, end.log).toBe(0);
	const reader = await server.connect(database);
	const count = async () =>
		(await reader.query("SELECT count(*) FROM webhooks.orders")).rows[0].count;
	await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
	expect(await count()).toBe("3");
	const next = await load(
		await manifest({
			"2026-03-01": [eventsOf("2026-03-01", 5, "b")],
			"2026-03-02": [eventsOf("2026-03-02", 7, "b")],
		}),
	);
	// The reader still holds its lock on the table, so no Run may need one against readers.
	expect(next.exitCode, next.log).toBe(0);
	expect(await count()).toBe("3");
	await reader.query("COMMIT");
	expect(await count()).toBe("12");
	await reader.end();
});

/** A disk of a few megabytes, for the partitions that a user makes from now on. */
async function smallDisk(user: string, database: string) {
	const { directory, grow } = await memoryDisk("8m");
	onTestFinished(async () => {
		// Or the server has pages left to write to a disk that is gone, and fails at whatever needs their room next.
		await server.rows(`DROP DATABASE ${database} WITH (FORCE)`);
		await server.rows(`DROP TABLESPACE small_${database}`);
	});
	await mkdir(join(directory, "space"), { mode: 0o777 });
	if (isRoot) await chown(join(directory, "space"), 65_534, 65_534);
	for (const sql of [
		`CREATE TABLESPACE small_${database} LOCATION '${join(directory, "space")}'`,
		`GRANT CREATE ON TABLESPACE small_${database} TO ${user}`,
		`ALTER ROLE ${user} SET default_tablespace = small_${database}`,
	])
		await server.rows(sql);
	return { grow: () => grow("256m") };
}

test.skipIf(!isRoot)(
	"on a full disk a Run fails with the server's words, the day stays what it was, and once there is room the next one loads it",
	async () => {
		const { manifest, load, sql, user, database } =
			await postgresFixture(server);
		const disk = await smallDisk(user, database);
		const date = "2026-03-01";
		const before = eventsOf(date, 3, "a");
		const first = await load(await manifest({ [date]: [before] }));
		expect(first.exitCode, first.log).toBe(0);
		const large = eventsOf(date, 2_000, "b").map((event) => ({
			...event,
			body: JSON.stringify(randomBytes(8_192).toString("base64")),
		}));
		const more = await manifest({ [date]: [before, large] });
		for (const adds of [true, undefined]) {
			const failed = await load(more, { input: adds ? { adds } : {} });
			expect(failed.result, failed.log).toMatchObject({
				error: {
					code: "PostgresFull",
					retryable: true,
					message: expect.stringContaining("No space left on device"),
				},
			});
			expect(await sql(perDate)).toEqual([[date, "3", "3"]]);
		}
		await disk.grow();
		const end = await load(more);
		expect(end.exitCode, end.log).toBe(0);
		expect(await sql(perDate)).toEqual([[date, "2003", "2003"]]);
	},
);

test.each([
	["no such host", { host: "nowhere.invalid" }, "PostgresUnavailable"],
	["a metadata address", { host: "169.254.169.254" }, "HostNotAllowed"],
	["a loopback address in a cluster", { isLocal: false }, "HostNotAllowed"],
	["no encryption offered", { sslMode: "verify-full" }, "CertificateRefused"],
	["no such database", { database: "nothing" }, "DatabaseMissing"],
	["no such schema", { schema: "nothing" }, "DatabaseMissing"],
	["no right", { schema: "pg_catalog" }, "PermissionDenied"],
])("a check with %s says so", async (_, change, code) => {
	const { destination, env } = await postgresFixture(server);
	const { result } = await checkDestination({ ...destination, ...change }, env);
	expect(result).toMatchObject({ outcome: "Failed", error: { code } });
});

test("of a server that isn't Postgres not a word is quoted", async () => {
	const { createServer } = await import("node:net");
	const listener = createServer((socket) => {
		socket.on("error", () => undefined);
		socket.end("SSH-2.0-secret words\r\n");
	}).listen(0, "127.0.0.1");
	const { destination, env } = await postgresFixture(server);
	const { port } = listener.address() as { port: number };
	const { result, log } = await checkDestination({ ...destination, port }, env);
	listener.close();
	expect(result).toMatchObject({ outcome: "Failed" });
	expect(JSON.stringify(result)).not.toContain("secret words");
	expect(log).not.toContain("secret words");
});

test("a check passes, and leaves nothing", async () => {
	const { destination, env, sql } = await postgresFixture(server);
	const { exitCode, log } = await checkDestination(destination, env);
	expect(exitCode, log).toBe(0);
	expect(
		await sql(
			"SELECT relname FROM pg_class WHERE relnamespace = 'webhooks'::regnamespace",
		),
	).toEqual([]);
});

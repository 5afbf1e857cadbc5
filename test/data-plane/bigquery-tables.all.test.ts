// On a laptop nothing proves this: it is BigQuery's alone, and `make test` loads DuckDB and Postgres.
import { expect, test } from "vitest";
import type { LoadInput, TableColumn } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { BigQueryTableOptions } from "../../packages/warehouses/bigquery/definition.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

/*
 * What a Run makes of a table in BigQuery, and what it leaves as people have set it. What holds of every type of warehouse is in
 * the conformance suite.
 */

const dates = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"];
const perDay =
	"select timestamp::date::text, string_agg(distinct body->>'tag', ',' order by body->>'tag'), count(*)::int from shop.orders group by all order by all";
const ring = "projects/test-project/locations/europe/keyRings/ring/cryptoKeys";

async function scene(isFull = false) {
	const fixture = await bigQueryFixture();
	const { manifest, loaded, destination } = fixture;
	const ownColumns = isFull ? columns.slice(0, 3) : columns;
	return {
		...fixture,
		ownColumns,
		/** A manifest with two objects of these tags for each date. */
		days: (...tags: string[]) =>
			manifest(
				Object.fromEntries(
					dates.map((date) => [
						date,
						tags.map((tag) => eventsOf(date, 2, tag)),
					]),
				),
			),
		/** Loads a day of two events. */
		loadWith: async (
			options: BigQueryTableOptions,
			kmsKeyName?: string,
			columns = ownColumns,
		) =>
			loaded(await manifest({ [dates[0]!]: [eventsOf(dates[0]!, 2, "a")] }), {
				destination: { ...destination, ...(kmsKeyName && { kmsKeyName }) },
				strategy: isFull ? "FullReload" : "Incremental",
				table: {
					...{ name: "orders", description: "Events of shop" },
					...{ columns, options },
				},
			}),
	};
}

const all: BigQueryTableOptions = {
	description: "Orders of the shop",
	labels: { team: "shop" },
	partitionExpirationDays: 400,
	requirePartitionFilter: true,
	clusterBy: ["event_id"],
};
const inBigQuery = {
	description: "Orders of the shop",
	labels: { team: "shop", "tidemill-source": expect.any(String) },
	timePartitioning: { type: "DAY", field: "date", expirationMs: "34560000000" },
	requirePartitionFilter: true,
	clustering: { fields: ["event_id"] },
};

test.each([false, true])(
	"a table has its types and the options that people chose from its creation on, and is loaded again by one job a part (full reload: %s)",
	async (isFull) => {
		const { loadWith, orders, rows, double } = await scene(isFull);
		const { description, labels, clusterBy } =
			all as Required<BigQueryTableOptions>;
		const { timePartitioning, requirePartitionFilter, ...ofBoth } = inBigQuery;
		for (let load = 1; load <= 2; load++) {
			const options = isFull ? { description, labels, clusterBy } : all;
			await loadWith(options, `${ring}/k`);
			expect(orders()).toMatchObject({
				...(isFull ? ofBoth : inBigQuery),
				encryptionConfiguration: {
					kmsKeyName: `${ring}/k/cryptoKeyVersions/1`,
				},
				schema: {
					fields: [
						{ name: "event_id", type: "STRING" },
						{ name: "timestamp", type: "TIMESTAMP" },
						{ name: "body", type: "STRING" },
						...(isFull ? [] : [{ name: "date", type: "DATE" }]),
					],
				},
			});
			expect(double.jobs.all()).toHaveLength(load);
		}
		expect("timePartitioning" in orders()).toBe(!isFull);
		expect(double.warehouse.tableNames()).toEqual(["shop.orders"]);
		expect(await rows("from shop.orders limit 1")).toEqual([
			[
				...["2026-03-01-a-0", "2026-03-01 00:00:00+00"],
				...['{"tag":"a","index":0}', "2026-03-01"].slice(0, isFull ? 1 : 2),
			],
		]);
	},
);

test("a Run sets the options that a table lacks, and leaves alone those that people didn't choose", async () => {
	const { loadWith, orders, double, reference } = await scene();
	await loadWith({ labels: { team: "none" } });
	const theirs = { labels: { theirs: "1" }, clustering: { fields: ["date"] } };
	double.warehouse.patchTable(reference, theirs, undefined);
	const { clusterBy: _, ...chosen } = all;
	const { log } = await loadWith(chosen);
	expect(log).toContain(
		'"changed":["labels","requirePartitionFilter","description","timePartitioning"]',
	);
	const expected = {
		...inBigQuery,
		labels: { team: "shop", theirs: "1" },
		clustering: { fields: ["date"] },
	};
	expect(orders()).toMatchObject(expected);
	expect((await loadWith({})).log).not.toContain("setting options");
	expect(orders()).toMatchObject(expected);
});

/** What people set in BigQuery, by its console, DDL or Terraform. */
const theirs = {
	description: "Ours",
	friendlyName: "Orders",
	labels: { owner: "ada" },
	expirationTime: "32503680000000",
	maxStaleness: "0-0 0 4:0:0",
	defaultCollation: "und:ci",
	defaultRoundingMode: "ROUND_HALF_EVEN",
} as const;
const protections = {
	resourceTags: { "1/env": "prod" },
	tableConstraints: { primaryKey: { columns: ["event_id"] } },
};
const ofColumns = {
	description: "Theirs",
	collation: "und:ci",
	defaultValueExpression: "'x'",
	policyTags: { names: ["projects/p/locations/eu/taxonomies/1/policyTags/2"] },
};

test.each([true, false])(
	"what people set on a table and its columns, and who has access to it, outlasts each Run, and a new column comes beside it (full reload: %s)",
	async (isFull) => {
		const {
			loadWith,
			load,
			days,
			orders,
			double,
			rows,
			reference,
			ownColumns,
		} = await scene(isFull);
		await loadWith({});
		const fields = orders().schema!.fields!.map((field) =>
			field.type === "STRING" ? { ...field, ...ofColumns } : field,
		);
		const changes = {
			...theirs,
			...protections,
			...(!isFull && { requirePartitionFilter: true }),
			clustering: { fields: ["event_id"] },
			schema: { fields },
		};
		double.warehouse.patchTable(reference, changes, undefined);
		const access = { rowAccessPolicies: ["only_eu"], roles: ["roles/viewer"] };
		double.warehouse.access.set("shop.orders", access);
		if (!isFull) {
			const before = orders();
			const { result } = await load(await days("a"));
			expect(result).toMatchObject({
				error: {
					code: "TableIncompatible",
					message: expect.stringContaining(
						"policy tags on event_id, body. A load into a partition may take them away",
					),
				},
			});
			expect(orders()).toEqual(before);
			double.permissions.owned.add("shop");
		}
		const uid = orders().labels?.["tidemill-run"];
		await loadWith({ labels: { team: "shop" } }, undefined, [
			...ownColumns,
			{ name: "header_x", from: { header: "x" } },
		]);
		expect(orders()).toMatchObject({
			...changes,
			labels: { owner: "ada", team: "shop" },
			schema: { fields: [...fields, { name: "header_x", type: "STRING" }] },
		});
		expect(double.warehouse.access.get("shop.orders")).toEqual(access);
		expect(orders().labels?.["tidemill-run"]).not.toBe(uid);
		expect(
			await rows("select count(*)::int, count(header_x)::int from shop.orders"),
		).toEqual([[2, 0]]);
	},
);

test("a rebuilt table is described as before; one that people protected is not rebuilt", async () => {
	const { load, loaded, days, orders, double, rows, reference } = await scene();
	const { policyTags, ...describing } = ofColumns;
	const fields = [
		{ name: "event_id", type: "STRING", ...describing },
		{ name: "body", type: "JSON", description: "Theirs" },
	];
	const make = async (more: object = {}) => {
		await double.warehouse.createTable({
			tableReference: reference,
			...theirs,
			schema: { fields },
			...more,
		});
		await rows("insert into shop.orders by name select 'old' as event_id");
	};
	const rebuild = { adopt: true, rebuild: true } as const;
	await make();
	await loaded(await days("a"), rebuild);
	expect(orders()).toMatchObject({ ...theirs, labels: { owner: "ada" } });
	expect(orders().schema?.fields).toEqual(
		expect.arrayContaining([
			{ name: "event_id", type: "STRING", ...describing },
			{ name: "body", type: "STRING", description: "Theirs" },
		]),
	);
	await double.warehouse.deleteTable(reference);
	await make({
		...protections,
		schema: { fields: [{ ...fields[0]!, policyTags }, fields[1]!] },
	});
	double.warehouse.access.set("shop.orders", {
		rowAccessPolicies: ["only_eu"],
		roles: ["roles/bigquery.dataViewer"],
	});
	// Who has dataEditor alone may not see row access policies.
	double.permissions.owned.add("shop");
	const before = orders();
	const { result } = await load(await days("a"), { input: rebuild });
	expect(result).toMatchObject({ error: { code: "TableIncompatible" } });
	for (const name of [
		"its own grants of roles/bigquery.dataViewer",
		"the row access policy only_eu",
		'the policy tags of column "event_id"',
		"the tag 1/env",
		"its primary and foreign keys",
	])
		expect(JSON.stringify(result)).toContain(JSON.stringify(name).slice(1, -1));
	expect(orders()).toEqual(before);
	expect(await rows("select event_id from shop.orders")).toEqual([["old"]]);
});

test("a table that must be rebuilt stays as it is until every object has been checked", async () => {
	const { days, load, loaded, rows, store, double, reference } = await scene();
	await double.warehouse.createTable({
		tableReference: reference,
		schema: { fields: [{ name: "event_id", type: "STRING" }] },
	});
	await rows("insert into shop.orders by name select 'theirs' as event_id");
	const next = await days("new");
	const broken = next.dates[3]!.objects[0]!;
	store.put(broken.key, "x".repeat(broken.bytes));
	const rebuild = { rebuild: true, adopt: true } as const;
	const refused = await load(next, { input: rebuild });
	expect(refused.result).toMatchObject({ error: { code: "ObjectMismatch" } });
	expect(await rows("select event_id from shop.orders")).toEqual([["theirs"]]);
	await loaded(await days("new"), rebuild);
	expect(await rows(perDay)).toEqual(dates.map((date) => [date, "new", 2]));
});

test("expirations that a dataset gives its tables are told by the check and by each Run, unless the Pipeline chose one", async () => {
	const { double, destination, env, loadWith } = await scene();
	double.warehouse.defaults.set("shop", {
		defaultPartitionExpirationMs: String(60 * 86_400_000),
	});
	const warning = expect.stringContaining(
		"BigQuery deletes a day 60 days after its date.",
	);
	const checked = await checkDestination(destination, env);
	expect(checked.result, checked.log).toMatchObject({ warning });
	for (let run = 1; run <= 2; run++)
		expect(await loadWith({})).toMatchObject({ warning, log: warning });
	const chosen = await loadWith({ partitionExpirationDays: 400 });
	expect(chosen).not.toHaveProperty("warning");
});

const ofTypes = (
	[
		"Integer",
		"Number",
		"Boolean",
		"String",
		"JSON",
		"Timestamp",
		"Date",
	] as const
).map(
	(type) =>
		({
			name: `a_${type.toLowerCase()}`,
			from: { bodyPointer: `/${type}`, type },
		}) as TableColumn,
);
const price: TableColumn = {
	name: "price",
	from: { bodyPointer: "/price", type: "Decimal", precision: 38, scale: 20 },
};
const ofJSON = (
	columns: TableColumn[],
	name = "orders",
	bodyType = "JSON",
): Partial<LoadInput> => ({
	table: { name, columns, description: "", options: { bodyType } },
});
const first = dates[0]!;
/** Events e00, e01 and so on of the first day. */
const eventsWith = (bodies: readonly string[]) =>
	bodies.map((body, index) => ({
		event_id: `e${String(index).padStart(2, "0")}`,
		timestampMs: Date.parse(first) + index,
		body,
	}));

const bodies: [what: string, json: string, fits: boolean][] = [
	["an object over lines", '{\r\n\t"a": [1, "\\u00e9\\n"],\n"b": 1.50}', true],
	["NUL", '{"a":"\\u0000"}', true],
	["half a pair", '"\\ud800"', false],
	["the other half", '{"\\udc00x":1}', false],
	["a pair", '"\\ud83d\\ude00"', true],
	["the largest number", "18446744073709551615", true],
	["a larger one", "[18446744073709551616]", false],
	["the least number", "-9223372036854775808", true],
	["a lesser one", "-9223372036854775809", false],
	["many digits", '{"a":0.12345678901234567891}', false],
	["many digits in a string", '{"a":"0.12345678901234567891"}', true],
	["beyond a double", "1e400", false],
	["with an exponent", '{"a":1.5e10}', true],
	["deep", `${"[".repeat(500)}${"]".repeat(500)}`, true],
	[
		"too deep beside closed ones",
		`${"[[],".repeat(501)}1${"]".repeat(501)}`,
		false,
	],
	["many, but not deep", `[${"[],".repeat(600)}1]`, true],
	["too deep", `${"[".repeat(501)}${"]".repeat(501)}`, false],
];

test("a body is JSON by choice; what BigQuery's JSON can't hold is NULL, counted and written down, by each Run", async () => {
	const { loaded, manifest, rows, orders } = await bigQueryFixture();
	const events = eventsWith(bodies.map(([, body]) => body));
	const days = await manifest({ [first]: [events] });
	const input: Partial<LoadInput> = {
		...ofJSON(columns),
		rejectedTable: { name: "orders_rejected", description: "" },
	};
	const unfit = events.filter((_, at) => !bodies[at]![2]);
	// A repeat counts the same, though its jobs are done.
	for (let run = 1; run <= 2; run++)
		expect(await loaded(days, input)).toMatchObject({
			unfitValues: [
				{ column: "body", rows: unfit.length, values: bodies.length },
			],
		});
	expect(orders().schema?.fields).toContainEqual(
		expect.objectContaining({ name: "body", type: "JSON" }),
	);
	const found = await rows(
		"SELECT body::VARCHAR FROM shop.orders ORDER BY event_id",
	);
	expect(found.map(([body], at) => [bodies[at]![0], body !== null])).toEqual(
		bodies.map(([what, , fits]) => [what, fits]),
	);
	expect(JSON.parse(String(found[0]![0]))).toEqual(JSON.parse(bodies[0]![1]));
	expect(
		await rows(
			"SELECT event_id FROM shop.orders_rejected WHERE column_name = 'body' ORDER BY event_id",
		),
	).toEqual(unfit.map(({ event_id }) => [event_id]));
});

test.each([
	["one table", {}],
	[
		"a table for each type",
		{
			eventTypes: {
				place: { bodyPointer: "/type" },
				tables: [{ type: "paid", table: "orders_paid" }],
				other: "orders_other",
				free: 0,
			},
		},
	],
] satisfies [string, Partial<LoadInput>][])(
	"with %s, a body that JSON can't hold is counted once, though a load job failed and another was started",
	async (_, tables) => {
		const { loaded, manifest, double } = await bigQueryFixture();
		const events = eventsWith(
			["1e400", "1e500", "1"].map((number) => `{"type":"paid","n":${number}}`),
		);
		double.jobs.failNext("backendError", "Try again");
		const days = await manifest({ [first]: [events] });
		expect(await loaded(days, { ...ofJSON(columns), ...tables })).toMatchObject(
			{
				unfitValues: [{ column: "body", rows: 2, values: 3 }],
			},
		);
		expect(
			double.jobs.all().filter(({ status }) => status?.errorResult),
		).toHaveLength(1);
	},
);

test("beside a body of JSON, every other value is the one that a table with a body of text has", async () => {
	const { loaded, manifest, rows } = await bigQueryFixture();
	const body = {
		Number: 1.25e-7,
		Boolean: false,
		String: 'Käse "\\\n\u0001',
		JSON: { a: [null, "\u2028"] },
		Timestamp: "2026-03-01T12:00:00.123456+02:00",
		Date: "0031-12-24",
		price: "123456789.01234567890123456789",
	};
	const text = `{"Integer":9223372036854775807,${JSON.stringify(body).slice(1)}`;
	const days = await manifest({ [first]: [eventsWith([text, "{}"])] });
	const found: unknown[] = [];
	for (const bodyType of ["STRING", "JSON"]) {
		const name = `orders_${bodyType.toLowerCase()}`;
		await loaded(
			{ ...days, run: crypto.randomUUID() },
			ofJSON([...columns, ...ofTypes, price], name, bodyType),
		);
		found.push(
			await rows(
				`SELECT * EXCLUDE (body), a_integer::VARCHAR, price::VARCHAR FROM shop.${name} ORDER BY event_id`,
			),
		);
	}
	const [strings, json] = found;
	expect(strings).toHaveLength(2);
	expect(json).toEqual(strings);
});

test("a full reload without events empties a table with a body of JSON", async () => {
	const { loaded, manifest, rows } = await bigQueryFixture();
	const found: unknown[] = [];
	for (const objects of [[eventsWith(["[1]"])], []]) {
		await loaded(await manifest({ [first]: objects }), {
			strategy: "FullReload",
			...ofJSON(columns.slice(0, 3)),
		});
		found.push(await rows("SELECT body::VARCHAR FROM shop.orders"));
	}
	expect(found).toEqual([[["[1]"]], []]);
});

test("an Erase finds a string in a body of JSON, and blanks a body", async () => {
	const { loaded, manifest, rows } = await bigQueryFixture();
	const before = dates[1]!;
	const ofHer = '{"a/b":["hers@shop"]}';
	const [late] = eventsWith([ofHer]);
	const whole = await manifest({
		[first]: [eventsWith([ofHer, '{"a/b":[5]}', '{"a/b":["his@shop"]}'])],
		[before]: [
			[{ ...late!, event_id: "later", timestampMs: Date.parse(before) }],
		],
	});
	await loaded(whole, ofJSON(columns));
	const removing = (equals: string) => ({
		mode: "RemoveRow" as const,
		before,
		match: { bodyPointer: "/a~1b/0", equals },
	});
	const erasing: Manifest = {
		...whole,
		run: crypto.randomUUID(),
		asked: { extent: "Chosen" },
		dates: whole.dates.slice(1),
		erasures: {
			asked: 1,
			others: [
				removing("5"),
				removing("hers@shop"),
				{ mode: "BlankBody", before, eventIDs: ["e02"] },
			],
		},
	};
	await loaded(erasing, ofJSON(columns));
	expect(
		await rows(
			"SELECT event_id, body::VARCHAR FROM shop.orders ORDER BY event_id",
		),
	).toEqual([
		["e01", '{"a/b":[5]}'],
		["e02", "null"],
		["later", ofHer],
	]);
});

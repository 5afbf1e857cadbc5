import { describe, expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import { earlyComment, earlyLabels } from "../support/examples/table-marks.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	eventsOf,
	type LoadEnd,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/*
 * A load that finds a table of somebody else under its table's name leaves it alone, in each kind of warehouse, however the
 * table looks. The Pipeline that made a table has it, wherever it is applied again.
 */

const sourceKey = "0".repeat(32);

/** A table in the columns that a load fills, or some of them. */
interface Made {
	name?: string;
	rows: string;
	isFull?: boolean;
	view?: boolean;
}

const warehouses = {
	DuckDB: async () => {
		const { load, manifest, rows, change } = await loadFixture();
		const named = (table: string) => `lower(table_name) = '${table}'`;
		return {
			load,
			manifest,
			rows,
			nameOf: (table: string) => table,
			make: ({ name = "orders", rows, view }: Made) =>
				change(`create ${view ? "view" : "table"} ${name} as ${rows}`),
			run: change,
			setFormerMark: (key: string, words: string) =>
				change(
					`comment on table orders is '${earlyComment(key, words).replaceAll("'", "''")}'`,
				),
			/** All that a load could have changed. */
			look: async (table = "orders") => [
				await rows(`select * from ${table} order by all`),
				await rows(
					`select sql, comment from duckdb_tables() where ${named(table)}`,
				),
				await rows(
					"select table_schema, table_name, table_type from information_schema.tables order by all",
				),
			],
		};
	},
	BigQuery: async () => {
		const { load, manifest, rows, double } = await bigQueryFixture();
		const reference = (tableId: string) => ({
			projectId: double.projectId,
			datasetId: "shop",
			tableId,
		});
		const make = async ({ name = "orders", rows: query, ...made }: Made) => {
			const { isFull, view } = made;
			const fields = [
				{ name: "event_id", type: "STRING" },
				{ name: "timestamp", type: "TIMESTAMP" },
				{ name: "body", type: "STRING" },
				{ name: "date", type: "DATE" },
			];
			const tableReference = reference(name);
			if (view) {
				await double.warehouse.createTable({
					tableReference,
					view: { query, useLegacySql: false },
				});
				return;
			}
			await double.warehouse.createTable({
				tableReference,
				schema: { fields: isFull ? fields.slice(0, 3) : fields },
				...(!isFull && { timePartitioning: { type: "DAY", field: "date" } }),
			});
			await rows(`insert into shop.${name} by name ${query}`);
		};
		const setFormerMark = async (key: string, description: string) => {
			const orders = reference("orders");
			double.warehouse.setLabels(orders, earlyLabels(key));
			double.warehouse.patchTable(orders, { description }, undefined);
		};
		return {
			load,
			manifest,
			rows,
			nameOf: (table: string) => `shop.${table}`,
			make,
			run: rows,
			setFormerMark,
			look: async (table = "orders") => [
				await rows(`select * from shop.${table} order by all`),
				structuredClone(double.warehouse.find(reference(table))),
				double.warehouse.tableNames(),
				double.jobs.all().length,
			],
		};
	},
};

type Warehouse = keyof typeof warehouses;
const both: Warehouse[] = ["DuckDB", "BigQuery"];

const full = {
	strategy: "FullReload",
	table: {
		name: "orders",
		description: "Events of shop",
		columns: columns.slice(0, 3),
	},
} satisfies Partial<LoadInput>;

const theirs =
	"select 'theirs' as event_id, timestamptz '2026-03-01 12:00:00+00' as timestamp, '{}' as body, date '2026-03-01' as date" +
	" union all select 'theirs, of another day', timestamptz '2026-03-01 12:00:00+00', '{}', date '2026-01-01'";
const theirsFull =
	"select 'theirs' as event_id, timestamptz '2026-03-01 12:00:00+00' as timestamp, '{}' as body";

async function sceneOf(warehouse: Warehouse) {
	const scene = await warehouses[warehouse]();
	const { manifest, load, rows, nameOf } = scene;
	/** Of 2026-03-01, and 2026-03-02 without events. */
	const days = async (tag: string, changes: Partial<Manifest> = {}) => ({
		...(await manifest({
			"2026-03-01": [eventsOf("2026-03-01", 1, tag)],
			"2026-03-02": [],
		})),
		...changes,
	});
	return {
		...scene,
		days,
		loaded: async (manifest: Manifest, input?: Partial<LoadInput>) => {
			const { exitCode, log } = await load(manifest, { input: input ?? {} });
			expect(exitCode, log).toBe(0);
		},
		loadWith: (manifest: Manifest, input: Partial<LoadInput>) =>
			load(manifest, { input }),
		ids: () => rows(`select event_id from ${nameOf("orders")} order by all`),
	};
}

const rest = {
	asked: { extent: "Rest", start: "2026-03-01" },
	closedThrough: "2026-03-02",
} as const;

function runOf(account: string, pipeline: string, { run: uid }: Manifest) {
	return { run: { name: "run", uid, account, pipeline } };
}

function isRefused(
	{ exitCode, result, log }: LoadEnd,
	words = "",
	code = "TableNotOurs",
): void {
	expect(exitCode, log).toBe(65);
	expect(result).toMatchObject({
		error: {
			code,
			message: expect.stringContaining(words),
			retryable: false,
		},
	});
}

describe.each(both)("%s", (warehouse) => {
	test("a table with rows and no mark is refused before anything changes, in every mode", async () => {
		const { make, look, days, loadWith } = await sceneOf(warehouse);
		await make({ rows: theirs });
		const before = await look();
		const header = { name: "header_x", from: { header: "x" } };
		const wider = {
			table: { ...full.table, columns: [...columns, header] },
		};
		const part = { asked: { extent: "Rest", start: "2026-03-01" } } as const;
		for (const [manifest, input] of [
			[await days("a"), {}],
			[await days("a"), { adds: true as const }],
			[await days("a"), { rebuild: true }],
			[await days("a"), wider],
			[await days("a", part), {}],
		] as const) {
			isRefused(await loadWith(manifest, input), "rows that no Run marked");
			expect(await look()).toEqual(before);
		}
	});

	test("a full reload doesn't wipe a table that it didn't make", async () => {
		const { make, look, days, loadWith } = await sceneOf(warehouse);
		await make({ rows: theirsFull, isFull: true });
		const before = await look();
		for (const rebuild of [false, true]) {
			isRefused(await loadWith(await days("a"), { ...full, rebuild }));
			expect(await look()).toEqual(before);
		}
	});

	test("a view is never taken for a table, and replaced only if both fields say so", async () => {
		const scene = await sceneOf(warehouse);
		const { make, look, days, loadWith, loaded, ids } = scene;
		await make({ rows: theirs, view: true });
		const before = await look();
		for (const rebuild of [false, true]) {
			const refused = await loadWith(await days("a"), { rebuild });
			isRefused(refused);
			expect(JSON.stringify(refused.result)).toMatch(/it is a view/i);
			expect(await look()).toEqual(before);
		}
		const adopt = true;
		const unfit = await loadWith(await days("a"), { adopt });
		expect(unfit.result).toMatchObject({
			error: { code: "TableIncompatible" },
		});
		expect(await look()).toEqual(before);
		await loaded(await days("a"), { adopt, rebuild: true });
		expect(await ids()).toEqual([["2026-03-01-a-0"]]);
	});

	test("an empty table without a mark is filled as it is, but never rebuilt", async () => {
		const { make, look, days, loadWith, loaded, ids } =
			await sceneOf(warehouse);
		await make({ rows: `${theirsFull} limit 0`, isFull: true });
		const before = await look();
		isRefused(
			await loadWith(await days("a"), { rebuild: true }),
			'it has no column "date"',
		);
		expect(await look()).toEqual(before);
		await loaded(await days("a"), full);
		expect(await ids()).toEqual([["2026-03-01-a-0"]]);
		await loaded(await days("b"), full);
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
	});

	test("a table of another Pipeline or Source is refused, and the refusal names neither", async () => {
		const { look, days, loaded, loadWith } = await sceneOf(warehouse);
		const first = await days("a");
		await loaded(first, runOf("rivals", "secret-pipeline", first));
		const before = await look();
		const later = new Date(Date.now() + 60_000).toISOString();
		const otherKey = "e".repeat(32);
		for (const changes of [
			{},
			{ snapshotTime: later },
			{ sourceKey: otherKey },
			{ asked: { extent: "Rest", start: "2026-03-01" } },
		] as Partial<Manifest>[]) {
			const next = await days("b", changes);
			for (const input of [{}, { rebuild: true }, { adds: true as const }]) {
				const refused = await loadWith(next, input);
				isRefused(refused);
				expect(JSON.stringify(refused)).not.toMatch(
					/rivals|secret-pipeline|0{32}/,
				);
			}
		}
		// Also the same name in another namespace, or another name in the same one.
		for (const [account, pipeline] of [
			["shop", "secret-pipeline"],
			["rivals", "p"],
		] as const) {
			const next = await days("b");
			isRefused(await loadWith(next, runOf(account, pipeline, next)));
		}
		expect(await look()).toEqual(before);
	});

	test("the same Pipeline on the same source key goes on, applied again or restored elsewhere", async () => {
		const { days, loaded, ids } = await sceneOf(warehouse);
		await loaded(await days("a"));
		// A Pipeline without a status, or with one that was restored.
		await loaded(await days("b"));
		await loaded(await days("c", rest), { adds: true });
		expect(await ids()).toEqual([["2026-03-01-c-0"]]);
	});

	test("the same Pipeline goes on with a table that an early build filled, and marks it", async () => {
		const { days, loaded, loadWith, ids, setFormerMark } =
			await sceneOf(warehouse);
		await loaded(await days("a"));
		await setFormerMark(sourceKey, "people's own words");
		await loaded(await days("b", rest), { adds: true });
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
		const next = await days("c");
		isRefused(await loadWith(next, runOf("shop", "other", next)));
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
	});

	test("a table that an early build filled from another Source is refused", async () => {
		const { days, loaded, loadWith, look, setFormerMark } =
			await sceneOf(warehouse);
		await loaded(await days("a"));
		await setFormerMark("e".repeat(32), "Events of shop");
		const before = await look();
		isRefused(await loadWith(await days("b"), { rebuild: true }));
		expect(await look()).toEqual(before);
	});

	test("adopted, a table loses the rows of the days that are loaded, keeps the others, and is the Pipeline's", async () => {
		const { make, days, loaded, loadWith, ids, run, nameOf } =
			await sceneOf(warehouse);
		await make({ rows: theirs });
		await run(
			`insert into ${nameOf("orders")} select 'of an empty day', timestamptz '2026-03-01 12:00:00+00', '{}', date '2026-03-02'`,
		);
		const adopt = true as const;
		// What the other's mark or rows say about days counts for nothing.
		const part = await loadWith(await days("a", rest), { adopt });
		expect(part.result).toMatchObject({ error: { code: "TableIncomplete" } });
		await loaded(await days("a"), { adopt });
		const kept = ["theirs, of another day"];
		expect(await ids()).toEqual([["2026-03-01-a-0"], kept]);
		await loaded(await days("b"));
		await loaded(await days("c", rest));
		expect(await ids()).toEqual([["2026-03-01-c-0"], kept]);
	});

	test("whoever adopts a table has it, and its former Pipeline is refused", async () => {
		const { days, loaded, loadWith, ids } = await sceneOf(warehouse);
		const first = await days("a");
		await loaded(first, runOf("shop", "former", first));
		await loaded(await days("b"), { adopt: true });
		const next = await days("c");
		isRefused(await loadWith(next, runOf("shop", "former", next)));
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
		await loaded(await days("d"));
	});

	test("adopted by a full reload, a table loses all its rows", async () => {
		const { make, days, loaded, ids } = await sceneOf(warehouse);
		await make({ rows: theirsFull, isFull: true });
		await loaded(await days("a"), { ...full, adopt: true });
		expect(await ids()).toEqual([["2026-03-01-a-0"]]);
		await loaded(await days("b"), full);
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
	});

	test("a Pipeline whose Source has changed is refused while the table holds the other's rows, or rebuilds it", async () => {
		const { days, loaded, loadWith, look, ids, run, nameOf } =
			await sceneOf(warehouse);
		await loaded(await days("a"));
		await run(
			`insert into ${nameOf("orders")} select 'old', timestamptz '2026-03-01 12:00:00+00', '{}', date '2026-01-01'`,
		);
		const before = await look();
		const changed = { sourceKey: "e".repeat(32) };
		isRefused(
			await loadWith(await days("b", changed), {}),
			"it holds the events of another Source",
			"TableIncompatible",
		);
		expect(await look()).toEqual(before);
		await loaded(await days("b", changed), { rebuild: true });
		expect(await ids()).toEqual([["2026-03-01-b-0"]]);
		isRefused(
			await loadWith(await days("c"), {}),
			"drop the table",
			"TableIncompatible",
		);
		await loaded(await days("c"), { adopt: true });
		expect(await ids()).toEqual([["2026-03-01-c-0"]]);
	});

	test("a whole window says how many rows of other dates the table keeps, such as those before a narrowed range", async () => {
		const { days, loadWith, run, nameOf, ids } = await sceneOf(warehouse);
		const first = await loadWith(await days("a"), {});
		expect(first.result).not.toHaveProperty("otherRows");
		await run(
			`insert into ${nameOf("orders")} select 'old ' || n, timestamptz '2026-01-01 12:00:00+00', '{}', date '2026-01-01' from range(3) t(n)`,
		);
		const narrowed = await loadWith(await days("b"), {});
		expect(narrowed.result).toMatchObject({ rows: 1, otherRows: 3 });
		expect(await ids()).toHaveLength(4);
		const part = await loadWith(await days("c", rest), {});
		expect(part.result).not.toHaveProperty("otherRows");
		const again = await loadWith(await days("d"), { adds: true });
		expect(again.result).toMatchObject({ rows: 1, otherRows: 3 });
	});

	test("a full reload keeps no rows of other dates", async () => {
		const { days, loadWith } = await sceneOf(warehouse);
		await loadWith(await days("a"), full);
		const { result } = await loadWith(await days("b"), full);
		expect(result).toMatchObject({ outcome: "Succeeded", rows: 1 });
		expect(result).not.toHaveProperty("otherRows");
	});

	test("a foreign table of quarantined events keeps the Run from changing either table", async () => {
		const { make, days, loaded, loadWith, look } = await sceneOf(warehouse);
		const apart = "quarantine_orders";
		await make({ name: apart, rows: theirs });
		await loaded(await days("a"));
		const before = [await look(), await look(apart)];
		const quarantineTable = {
			name: apart,
			description: "Events in quarantine of shop",
			columns: [
				...columns,
				{ name: "violations", from: "Violations" as const },
			],
		};
		const manifest = await days("b");
		const { rows, objects } = manifest.dates[0]!;
		manifest.dates[0]!.quarantine = { rows, objects };
		for (const adds of [{}, { adds: true as const }]) {
			isRefused(
				await loadWith(manifest, { quarantineTable, ...adds }),
				`Table ${apart} is not this Pipeline's`,
			);
			expect([await look(), await look(apart)]).toEqual(before);
		}
		await loaded(manifest, { quarantineTable, adopt: true });
		await loaded(manifest, { quarantineTable });
	});
});

test("DuckDB: a comment in which nobody can read the mark is no mark", async () => {
	const { days, loaded, loadWith, look, run } = await sceneOf("DuckDB");
	await loaded(await days("a"));
	await run("comment on table orders is 'mine, all mine'");
	const before = await look();
	isRefused(await loadWith(await days("b"), {}), "rows that no Run marked");
	expect(await look()).toEqual(before);
	await loaded(await days("b"), { adopt: true });
	await loaded(await days("c"));
});

describe("BigQuery", () => {
	async function bigQueryScene() {
		const fixture = await bigQueryFixture();
		const { manifest, load, double } = fixture;
		const reference = {
			projectId: double.projectId,
			datasetId: "shop",
			tableId: "orders",
		};
		const days = (tag: string) =>
			manifest({ "2026-03-01": [eventsOf("2026-03-01", 1, tag)] });
		return {
			...fixture,
			reference,
			days,
			orders: () => double.warehouse.require(reference),
			loaded: async (manifest: Manifest, input: Partial<LoadInput> = {}) => {
				const { exitCode, log } = await load(manifest, { input });
				expect(exitCode, log).toBe(0);
			},
		};
	}

	test("a table whose rows are still in its streaming buffer is not empty", async () => {
		const { double, days, load, rows, reference } = await bigQueryScene();
		await double.warehouse.createTable({
			tableReference: reference,
			schema: {
				fields: [
					{ name: "event_id", type: "STRING" },
					{ name: "timestamp", type: "TIMESTAMP" },
					{ name: "body", type: "STRING" },
					{ name: "date", type: "DATE" },
				],
			},
			timePartitioning: { type: "DAY", field: "date" },
		});
		await rows(`insert into shop.orders ${theirs}`);
		double.warehouse.setStreamed(reference, 2);
		expect(await double.warehouse.read(reference)).toMatchObject({
			numRows: "0",
		});
		isRefused(await load(await days("a")), "rows that no Run marked");
		expect(await rows("select count(*)::int from shop.orders")).toEqual([[2]]);
	});

	test.each([
		["the same Run", false],
		["the next Run", true],
	])(
		"a first load that dies after it created the table is carried on by %s",
		async (_, isNext) => {
			const { double, days, load, loaded, rows, orders } =
				await bigQueryScene();
			let isCreated = false;
			double.onRequest = ({ method, path }) => {
				if (isCreated) return new Fault(403, "accessDenied", "Not any more");
				isCreated = method === "POST" && path.endsWith("/tables");
				return undefined;
			};
			const options = { description: "People's own words" };
			const description = "Events of shop";
			const input = {
				table: { name: "orders", columns, description, options },
			};
			const first = await days("a");
			expect((await load(first, { input })).exitCode).toBe(65);
			expect(orders().labels).toMatchObject({
				"tidemill-namespace": "shop",
				"tidemill-pipeline": "p",
				"tidemill-source": sourceKey,
				"tidemill-through": "",
			});
			double.onRequest = () => undefined;
			await loaded(isNext ? await days("a") : first, input);
			expect(await rows("select event_id from shop.orders")).toEqual([
				["2026-03-01-a-0"],
			]);
		},
	);

	test.each([
		["the same Run", false],
		["the next Run", true],
	])(
		"a rebuild for another Source that dies before it dropped the table leaves no row of the former one to %s",
		async (_, isNext) => {
			const { double, days, load, loaded, rows } = await bigQueryScene();
			await loaded(await days("a"));
			await rows(
				"insert into shop.orders select 'old', timestamptz '2026-03-01 12:00:00+00', '{}', date '2026-01-01'",
			);
			double.onRequest = ({ method, path }) =>
				method === "DELETE" && path.endsWith("/tables/orders")
					? new Fault(403, "accessDenied", "Not today")
					: undefined;
			const other = { sourceKey: "e".repeat(32) };
			const first = { ...(await days("b")), ...other };
			const input = { rebuild: true };
			expect((await load(first, { input })).exitCode).toBe(65);
			double.onRequest = () => undefined;
			const next = isNext ? { ...(await days("b")), ...other } : first;
			isRefused(await load(next), "another Source", "TableIncompatible");
			await loaded(next, input);
			expect(await rows("select event_id from shop.orders")).toEqual([
				["2026-03-01-b-0"],
			]);
		},
	);

	test("a whole load of an early build that was interrupted is carried on after the upgrade", async () => {
		const { double, days, load, loaded, reference } = await bigQueryScene();
		await loaded(await days("a"));
		double.warehouse.setLabels(reference, earlyLabels(""));
		await loaded(await days("b"));
		double.warehouse.setLabels(reference, earlyLabels(""));
		double.warehouse.patchTable(reference, { description: "Other" }, undefined);
		isRefused(await load(await days("c")));
	});

	test("a Run that dies right after its load of the whole table is carried on", async () => {
		const { double, days, load, loaded, rows } = await bigQueryScene();
		await loaded(await days("a"), full);
		const second = await days("b");
		let isLoading = false;
		double.onRequest = ({ method, path }) => {
			if (method === "POST" && path.endsWith("/jobs")) isLoading = true;
			return isLoading && method === "PATCH"
				? new Fault(403, "accessDenied", "No changes today")
				: undefined;
		};
		expect((await load(second, { input: full })).exitCode).toBe(65);
		double.onRequest = () => undefined;
		await loaded(second, full);
		await loaded(await days("c"), full);
		expect(await rows("select event_id from shop.orders")).toEqual([
			["2026-03-01-c-0"],
		]);
	});

	test("a load stops once somebody else has marked the table", async () => {
		const { double, days, load, loaded, rows, reference, orders } =
			await bigQueryScene();
		await loaded(await days("a"));
		double.onRequest = ({ path }) => {
			if (path.startsWith("/upload"))
				double.warehouse.patchTable(
					reference,
					{ labels: { "tidemill-pipeline": "secret-pipeline" } },
					undefined,
				);
			return undefined;
		};
		const stopped = await load(await days("b"));
		isRefused(stopped, "somebody changed its mark during the load");
		expect(JSON.stringify(stopped)).not.toContain("secret-pipeline");
		expect(await rows("select event_id from shop.orders")).toEqual([
			["2026-03-01-a-0"],
		]);
		expect(orders().labels).toMatchObject({
			"tidemill-pipeline": "secret-pipeline",
		});
	});
});

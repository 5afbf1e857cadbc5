import { expect, test } from "vitest";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import {
	type BigQueryFixture,
	bigQueryFixture,
} from "../support/fixtures/data-plane/bigquery-fixture.ts";
import { checkDestination } from "../support/fixtures/data-plane/check-fixture.ts";
import {
	columns,
	eventsOf,
} from "../support/fixtures/data-plane/load-fixture.ts";

const perDay =
	"select date::text, count(*)::int, count(distinct event_id)::int from shop.orders group by date order by date";
const day = (date: string, count: number, tag: string) => ({
	[date]: [eventsOf(date, count, tag)],
});
const full = {
	input: {
		strategy: "FullReload",
		table: {
			name: "orders",
			description: "Events of shop",
			columns: columns.slice(0, 3),
		},
	},
} as const;

function ordersOf({ double }: BigQueryFixture) {
	return double.warehouse.find({
		projectId: double.projectId,
		datasetId: "shop",
		tableId: "orders",
	});
}

test("the first load creates a table partitioned by date, and a repeat leaves it the same", async () => {
	const fixture = await bigQueryFixture();
	const { manifest, load, rows } = fixture;
	const march = await manifest({
		"2026-03-01": [
			eventsOf("2026-03-01", 3, "a"),
			eventsOf("2026-03-01", 2, "b"),
		],
		"2026-03-02": [],
		...day("2026-03-03", 4, "a"),
	});
	const first = await load(march);
	expect(first.exitCode, first.log).toBe(0);
	expect(first.result).toMatchObject({
		outcome: "Succeeded",
		rows: 9,
		objects: 3,
		dates: { start: "2026-03-01", end: "2026-03-03" },
	});
	expect(ordersOf(fixture)).toMatchObject({
		description: "Events of shop",
		labels: { "tidemill-run": march.run },
		timePartitioning: { type: "DAY", field: "date" },
		schema: {
			fields: [
				{ name: "event_id", type: "STRING" },
				{ name: "timestamp", type: "TIMESTAMP" },
				{ name: "body", type: "STRING" },
				{ name: "date", type: "DATE" },
			],
		},
	});
	const table = await rows("select * from shop.orders order by all");
	expect(table).toHaveLength(9);
	expect(table[0]).toEqual([
		"2026-03-01-a-0",
		"2026-03-01 00:00:00+00",
		'{"tag":"a","index":0}',
		"2026-03-01",
	]);
	const again = await load({ ...march, run: "later" });
	expect(again.exitCode, again.log).toBe(0);
	expect(await rows("select * from shop.orders order by all")).toEqual(table);
});

test("a load replaces its days, empties days without events, and changes no other day", async () => {
	const { manifest, load, rows } = await bigQueryFixture();
	await load(
		await manifest({
			...day("2026-03-01", 3, "old"),
			...day("2026-03-02", 3, "old"),
			...day("2026-03-03", 3, "old"),
		}),
	);
	await rows(
		"insert into shop.orders by name select 'marker' as event_id, date '2026-03-01' as date union all select 'marker', date '2026-03-02'",
	);
	const { exitCode, log } = await load(
		await manifest({ ...day("2026-03-02", 5, "new"), "2026-03-03": [] }),
	);
	expect(exitCode, log).toBe(0);
	expect(await rows(perDay)).toEqual([
		["2026-03-01", 4, 4],
		["2026-03-02", 5, 5],
	]);
	expect(
		await rows("select date::text from shop.orders where event_id = 'marker'"),
	).toEqual([["2026-03-01"]]);
});

test("a full reload replaces the whole table, also by nothing, and leaves its expiration alone", async () => {
	const fixture = await bigQueryFixture();
	const { manifest, load, rows, double } = fixture;
	const days = { ...day("2026-03-01", 3, "a"), ...day("2026-03-02", 2, "a") };
	const first = await load(await manifest(days), full);
	expect(first.exitCode, first.log).toBe(0);
	expect(ordersOf(fixture)).not.toHaveProperty("expirationTime");
	await rows("insert into shop.orders by name select 'marker' as event_id");
	const expirationTime = String(Date.now() + 3_600_000);
	const { tableReference } = ordersOf(fixture)!;
	double.warehouse.patchTable(tableReference, { expirationTime }, undefined);
	expect((await load(await manifest(days), full)).exitCode).toBe(0);
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[5]]);
	expect(double.warehouse.tableNames()).toEqual(["shop.orders"]);
	expect(ordersOf(fixture)).toMatchObject({
		description: "Events of shop",
		expirationTime,
	});
	expect(ordersOf(fixture)).not.toHaveProperty("timePartitioning");
	const none = await load(await manifest({ "2026-03-01": [] }), full);
	expect(none.exitCode, none.log).toBe(0);
	expect(await rows("select count(*)::int from shop.orders")).toEqual([[0]]);
});

test("a header captured later becomes a column that is NULL for older days", async () => {
	const { manifest, load, rows } = await bigQueryFixture();
	await load(await manifest(day("2026-03-01", 1, "a")));
	const header = { name: "header_x_a", from: { header: "x-a" } };
	const events = eventsOf("2026-03-02", 1, "b").map((event) => ({
		...event,
		headers: { "x-a": 'ü"1"' },
	}));
	const { exitCode, log } = await load(
		await manifest({ "2026-03-02": [events] }),
		{
			input: {
				table: {
					name: "orders",
					description: "",
					columns: [...columns, header],
				},
			},
		},
	);
	expect(exitCode, log).toBe(0);
	expect(
		await rows("select header_x_a from shop.orders order by date"),
	).toEqual([[null], ['ü"1"']]);
});

test("an adopted table that doesn't fit stays as it is unless `onIncompatible` is Rebuild", async () => {
	const { manifest, load, rows, double } = await bigQueryFixture();
	await double.warehouse.createTable({
		tableReference: {
			projectId: double.projectId,
			datasetId: "shop",
			tableId: "orders",
		},
		schema: {
			fields: [
				{ name: "event_id", type: "STRING" },
				{ name: "timestamp", type: "TIMESTAMP" },
				{ name: "body", type: "JSON" },
				{ name: "date", type: "DATE" },
			],
		},
	});
	await rows("insert into shop.orders by name select 'theirs' as event_id");
	const days = await manifest(day("2026-03-01", 3, "a"));
	const adopt = true;
	const refused = await load(days, { input: { adopt } });
	expect(refused.exitCode).toBe(65);
	expect(refused.result).toMatchObject({
		error: {
			code: "TableIncompatible",
			message: expect.stringContaining(
				'its column "body" has type JSON, but the load needs STRING',
			),
		},
	});
	expect(await rows("select event_id from shop.orders")).toEqual([["theirs"]]);
	const rebuilt = await load(days, { input: { rebuild: true, adopt } });
	expect(rebuilt.exitCode, rebuilt.log).toBe(0);
	expect(await rows(perDay)).toEqual([["2026-03-01", 3, 3]]);
});

test("a missing dataset is created in the location of the Destination", async () => {
	const { manifest, load, double, destination } = await bigQueryFixture();
	const days = await manifest(day("2026-03-01", 1, "a"));
	const elsewhere = { ...destination, dataset: "fresh", location: "US" };
	const refused = await load(days, { input: { destination: elsewhere } });
	expect(refused.result).toMatchObject({ error: { code: "DatasetMissing" } });
	double.permissions.projectRole = "bigquery.user";
	const { exitCode, log } = await load(days, {
		input: { destination: { ...elsewhere, createDataset: true } },
	});
	expect(exitCode, log).toBe(0);
	expect(double.warehouse.datasets.get("fresh")).toBe("US");
});

test("a Run that wakes after its successor has ended changes nothing", async () => {
	const fixture = await bigQueryFixture();
	const { manifest, load, start, rows, double } = fixture;
	await load(await manifest(day("2026-03-01", 1, "first")));
	const early = await manifest(day("2026-03-01", 2, "early"));
	const late = await manifest(day("2026-03-01", 3, "late"));
	late.snapshotTime = new Date(Date.now() + 60_000).toISOString();
	const sleeper = await start(early);
	// It is stopped as its upload begins.
	const asleep = new Promise<void>((resolve) => {
		double.onRequest = ({ path }) => {
			if (!path.startsWith("/upload")) return undefined;
			sleeper.process.child.kill("SIGSTOP");
			double.onRequest = () => undefined;
			resolve();
			return "drop";
		};
	});
	await asleep;
	const successor = await load(late);
	expect(successor.exitCode, successor.log).toBe(0);
	sleeper.process.child.kill("SIGCONT");
	const woken = await sleeper.finish();
	expect(woken.result).toMatchObject({
		error: { code: "Superseded", retryable: false },
	});
	expect(await rows(perDay)).toEqual([["2026-03-01", 3, 3]]);
});

test("a job that an earlier Run left running is cancelled before anything is replaced", async () => {
	const { manifest, load, rows, double, start } = await bigQueryFixture();
	await load(await manifest(day("2026-03-01", 1, "first")));
	double.jobs.held = true;
	const killed = await start(await manifest(day("2026-03-01", 2, "early")));
	await expect
		.poll(() => double.jobs.inStates(["running"]).length, { timeout: 120_000 })
		.toBe(1);
	killed.process.child.kill("SIGKILL");
	await killed.finish();
	const [left] = double.jobs.inStates(["running"]);
	double.jobs.held = false;
	const { exitCode, log } = await load(
		await manifest(day("2026-03-01", 3, "late")),
	);
	expect(exitCode, log).toBe(0);
	expect(left?.status?.errorResult?.reason).toBe("stopped");
	expect(await rows(perDay)).toEqual([["2026-03-01", 3, 3]]);
});

test("an interrupted upload resumes where it stopped, or in a new session if its own is lost", async () => {
	const { manifest, load, rows, double } = await bigQueryFixture();
	let puts = 0;
	double.onRequest = ({ method }) => {
		if (method !== "PUT") return undefined;
		puts++;
		if (puts === 1) return "drop";
		if (puts === 2) return new Fault(503, "backendError", "Try again");
		if (puts === 3) double.uploads.forgetAll();
		return undefined;
	};
	const { exitCode, log } = await load(
		await manifest(day("2026-03-01", 5, "a")),
	);
	expect(exitCode, log).toBe(0);
	expect(puts).toBeGreaterThan(3);
	expect(await rows(perDay)).toEqual([["2026-03-01", 5, 5]]);
});

test("a transient error is retried, and a job that failed by one gets a successor", async () => {
	const { manifest, load, rows, double } = await bigQueryFixture();
	const days = await manifest(day("2026-03-01", 5, "a"));
	let requests = 0;
	double.onRequest = () =>
		++requests % 5 === 0
			? new Fault(503, "backendError", "Try again")
			: undefined;
	double.jobs.failNext("backendError", "Try again");
	const { exitCode, log } = await load(days);
	expect(exitCode, log).toBe(0);
	expect(await rows(perDay)).toEqual([["2026-03-01", 5, 5]]);
	expect(
		double.jobs.all().map(({ jobReference }) => jobReference.jobId),
	).toEqual(
		[1, 2].map(
			(attempt) => `tidemill_${days.run}_whole_orders_20260301_${attempt}`,
		),
	);
});

test("a job that BigQuery fails for a row's size names the largest row and value, and only then", async () => {
	const { manifest, load, double } = await bigQueryFixture();
	const large = {
		event_id: "large",
		timestampMs: Date.UTC(2026, 2, 1),
		body: JSON.stringify({ pad: "x".repeat(5_000) }),
	};
	const days = await manifest({
		"2026-03-01": [[...eventsOf("2026-03-01", 3, "a"), large]],
	});
	const messageOf = async (reason: string, message: string) => {
		double.jobs.failNext(reason, message);
		const { result } = await load({ ...days, run: crypto.randomUUID() });
		return result?.outcome === "Failed" ? result.error.message : undefined;
	};
	expect(
		await messageOf("invalid", "Row size is larger than: 104857600"),
	).toMatch(
		/Row size is larger than: 104857600\. The largest row has \d+ bytes as text, that of event large\. The largest value has 5010 bytes, in column "body" of event large\./,
	);
	expect(await messageOf("invalid", "Schema mismatch")).not.toContain(
		"largest",
	);
});

test("a check creates a table, loads into it and leaves nothing behind", async () => {
	const { double, destination, env } = await bigQueryFixture();
	const { exitCode, log } = await checkDestination(destination, env);
	expect(exitCode, log).toBe(0);
	expect(double.jobs.all()).toHaveLength(2);
	expect(double.warehouse.tableNames()).toEqual([]);
});

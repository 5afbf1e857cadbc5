// In make test: test/data-plane/warehouses/duckdb.laptop.test.ts
import { expect, test } from "vitest";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { Fault } from "../support/doubles/bigquery/fault.ts";
import { earlyLabels } from "../support/examples/table-marks.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	eventsOf,
	type LoadEnd,
} from "../support/fixtures/data-plane/load-fixture.ts";

/* Whose a table is (warehouses/owner-cases.ts) BigQuery says in labels, which change apart from its rows. */

const sourceKey = "0".repeat(32);

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
		const { double, days, load, loaded, rows, orders } = await bigQueryScene();
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

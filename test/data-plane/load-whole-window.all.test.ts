import { expect, test } from "vitest";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	eventsOf,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";

/*
 * The operator counts days from the last successful Run. Whether the table still holds the days before is for the load to
 * see, in each kind of warehouse.
 */

const warehouses = {
	DuckDB: async () => {
		const { load, manifest, rows, change } = await loadFixture();
		const drop = () => change("drop table orders");
		const breakColumn = () =>
			change("alter table orders alter body type blob using null");
		return { load, manifest, rows, drop, breakColumn, table: "orders" };
	},
	BigQuery: async () => {
		const { load, manifest, rows, double } = await bigQueryFixture();
		const table = {
			projectId: double.projectId,
			datasetId: "shop",
			tableId: "orders",
		};
		const drop = () => double.warehouse.deleteTable(table);
		const breakColumn = async () => {
			const { fields = [] } = double.warehouse.require(table).schema!;
			double.warehouse.setFields(
				table,
				fields.map((field) =>
					field.name === "body" ? { ...field, type: "JSON" } : field,
				),
			);
		};
		return { load, manifest, rows, drop, breakColumn, table: "shop.orders" };
	},
};

const rest = {
	asked: { extent: "Rest", start: "2026-03-02" },
	closedThrough: "2026-03-02",
} as const;
const chosen = {
	asked: { extent: "Chosen", start: "2026-03-01", end: "2026-03-01" },
} as const;

async function sceneOf(warehouse: keyof typeof warehouses) {
	const scene = await warehouses[warehouse]();
	const { manifest, load, rows, table } = scene;
	const manifestOf = async (
		dates: string[],
		tag: string,
		changes: Partial<Manifest> = {},
	) => ({
		...(await manifest(
			Object.fromEntries(dates.map((date) => [date, [eventsOf(date, 1, tag)]])),
		)),
		...changes,
	});
	const loaded = async (...given: Parameters<typeof load>) => {
		const { exitCode, log } = await load(...given);
		expect(exitCode, log).toBe(0);
	};
	const bodies = () =>
		rows(`select event_id from ${table} order by event_id`) as Promise<unknown>;
	return { ...scene, manifestOf, loaded, bodies };
}

test.each(["DuckDB", "BigQuery"] as const)(
	"%s: a load of the last days doesn't make a table, and continues one that holds the days before",
	async (warehouse) => {
		const { manifestOf, load, loaded, drop, bodies } = await sceneOf(warehouse);
		const whole = await manifestOf(["2026-03-01", "2026-03-02"], "a");
		await loaded(whole);
		const last = await manifestOf(["2026-03-02"], "b", rest);
		await loaded(last);
		expect(await bodies()).toEqual([["2026-03-01-a-0"], ["2026-03-02-b-0"]]);

		await drop();
		const again = { ...last, run: "again" };
		const refused = await load(again);
		expect(refused.exitCode).toBe(65);
		expect(refused.result).toMatchObject({
			error: { code: "TableIncomplete" },
		});
		await expect(bodies()).rejects.toThrow();
		// The same Run comes back.
		await loaded({ ...whole, run: "again" });
		expect(await bodies()).toEqual([["2026-03-01-a-0"], ["2026-03-02-a-0"]]);
	},
);

test.each(["DuckDB", "BigQuery"] as const)(
	"%s: a load of chosen days doesn't rebuild a table",
	async (warehouse) => {
		const { manifestOf, load, loaded, breakColumn, bodies } =
			await sceneOf(warehouse);
		await loaded(await manifestOf(["2026-03-01", "2026-03-02"], "a"));
		await loaded(await manifestOf(["2026-03-01"], "b", chosen));
		expect(await bodies()).toEqual([["2026-03-01-b-0"], ["2026-03-02-a-0"]]);
		await breakColumn();
		const refused = await load(await manifestOf(["2026-03-01"], "c", chosen), {
			input: { rebuild: true },
		});
		expect(refused.result).toMatchObject({
			error: { code: "TableIncomplete" },
		});
		expect(await bodies()).toEqual([["2026-03-01-b-0"], ["2026-03-02-a-0"]]);
	},
);

test("a load of a DuckDB file that slept past its successor's end changes nothing", async () => {
	const { manifestOf, load, loaded, bodies } = await sceneOf("DuckDB");
	const sleeper = await manifestOf(["2026-03-01"], "old", {
		snapshotTime: new Date(Date.now() - 60_000).toISOString(),
	});
	await loaded(await manifestOf(["2026-03-01"], "new"));
	const woken = await load(sleeper);
	expect(woken.exitCode).toBe(65);
	expect(woken.result).toMatchObject({
		error: { code: "Superseded", retryable: false },
	});
	expect(await bodies()).toEqual([["2026-03-01-new-0"]]);
});

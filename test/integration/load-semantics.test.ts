import { expect, test } from "vitest";
import type { LoadInput } from "../../contracts/job.ts";
import {
	addDays,
	closedThrough,
	datesBetween,
	startOfDate,
	type UtcDate,
} from "../../contracts/utc-date.ts";
import type { Layout } from "../../crds/generated/types.ts";
import { planDates } from "../../operator/run/plan-dates.ts";
import { bigQueryFixture } from "../bigquery-fixture.ts";
import { columns, eventsOf, loadFixture } from "../load-fixture.ts";
import { pipelineOf } from "../resource-examples.ts";

/** What a case does, in every warehouse: two Runs of a Pipeline with events in between. */
interface Case {
	overwritePeriodDays: number;
	/** Days from the first Run to the second. */
	gapDays: number;
	/** The days before the second Run's that it replaces, when it is incremental. */
	reloadedDaysBack: number;
}

const firstRun: UtcDate = "2026-03-20";
const firstEvent: UtcDate = "2026-03-10";

const cases: [string, Case][] = [
	["overwrite 0", { overwritePeriodDays: 0, gapDays: 0, reloadedDaysBack: 0 }],
	["overwrite 1", { overwritePeriodDays: 1, gapDays: 0, reloadedDaysBack: 1 }],
	["overwrite 7", { overwritePeriodDays: 7, gapDays: 0, reloadedDaysBack: 7 }],
	[
		"the next day, overwrite 0",
		{ overwritePeriodDays: 0, gapDays: 1, reloadedDaysBack: 1 },
	],
	[
		"a gap of 5 days, overwrite 1",
		{ overwritePeriodDays: 1, gapDays: 5, reloadedDaysBack: 6 },
	],
	[
		"a gap beyond what is retained",
		{ overwritePeriodDays: 1, gapDays: 40, reloadedDaysBack: 30 },
	],
];

const warehouses = {
	DuckDB: async () => {
		const { load, manifest, rows, change } = await loadFixture();
		return { load, manifest, rows, change, table: "orders" };
	},
	BigQuery: async () => {
		const { load, manifest, rows } = await bigQueryFixture();
		const change = async (sql: string) => void (await rows(sql));
		return { load, manifest, rows, change, table: "shop.orders" };
	},
};

const strategies = {
	Incremental: columns,
	FullReload: columns.filter(({ from }) => from !== "Date"),
};

const matrix = (["DuckDB", "BigQuery"] as const).flatMap((warehouse) =>
	(["Incremental", "FullReload"] as const).flatMap((strategy) =>
		cases.map(([name, one]) => ({ warehouse, strategy, name, ...one })),
	),
);

test.each(matrix)(
	"$warehouse, $strategy, $name: the second Run replaces its days and no other",
	async ({
		warehouse,
		strategy,
		overwritePeriodDays,
		gapDays,
		...expected
	}) => {
		const { load, manifest, rows, change, table } =
			await warehouses[warehouse]();
		const input: Partial<LoadInput> = {
			strategy,
			table: { name: "orders", description: "", columns: strategies[strategy] },
		};
		const layout: Layout = {
			sourceKey: "k",
			destination: warehouse,
			table: "orders",
			columns: strategies[strategy].map(({ name }) => name),
			strategy,
		};
		/** Plans the Run's days as the operator does, and loads what archive would then name. */
		const run = async (
			today: UtcDate,
			count: number,
			lastSuccess?: Parameters<typeof planDates>[2],
		) => {
			const { spec } = pipelineOf({ overwritePeriodDays });
			const plan = planDates(spec, layout, lastSuccess, undefined, today);
			if ("problem" in plan) throw new Error(plan.problem.message);
			const start = plan.start < firstEvent ? firstEvent : plan.start;
			const days = datesBetween(start, plan.end).map((date) => [
				date,
				[eventsOf(date, count, "e")],
			]);
			const end = await load(await manifest(Object.fromEntries(days)), {
				input,
			});
			expect(end.exitCode, end.log).toBe(0);
			return days.map(([date]) => String(date));
		};

		const first = await run(firstRun, 1);
		expect(first).toEqual(datesBetween(firstEvent, firstRun));
		const date = strategy === "Incremental" ? ", date" : "";
		for (const day of first)
			await change(
				`insert into ${table} by name select 'marker-${day}' as event_id, timestamptz '${day} 12:00:00+00' as timestamp${date && `, date '${day}' as date`}`,
			);

		const today = addDays(firstRun, gapDays);
		const second = await run(today, 2, {
			snapshotTime: `${firstRun}T12:00:00Z`,
			closedThrough: closedThrough(startOfDate(firstRun) + 43_200_000),
			layout,
		});
		const reloadedFrom = addDays(today, -expected.reloadedDaysBack);
		if (strategy === "Incremental") expect(second[0]).toBe(reloadedFrom);
		expect(
			await rows(
				`select timestamp::date::text, count(*)::int, count(*) filter (event_id like 'marker-%')::int from ${table} group by all order by all`,
			),
		).toEqual(
			datesBetween(firstEvent, today)
				.filter((day) => first.includes(day) || second.includes(day))
				.filter((day) => strategy === "Incremental" || second.includes(day))
				.map((day) => (second.includes(day) ? [day, 2, 0] : [day, 2, 1])),
		);
	},
);

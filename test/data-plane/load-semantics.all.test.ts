// In make test: ingest/load/load-days.test.ts
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type {
	Layout,
	PipelineLastSuccess,
} from "../../crds/generated/types.ts";
import { planDates } from "../../operator/pipeline/plan-dates.ts";
import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import {
	addDays,
	closedThrough,
	datesBetween,
	dayMs,
	startOfDate,
	type UtcDate,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import { pipelineOf } from "../support/examples/resource-examples.ts";
import { MovedClock } from "../support/faults/receive-clock.ts";
import {
	ArchiveFixture,
	newEvent,
} from "../support/fixtures/data-plane/archive-fixture.ts";
import { bigQueryFixture } from "../support/fixtures/data-plane/bigquery-fixture.ts";
import {
	columns,
	loadFixture,
} from "../support/fixtures/data-plane/load-fixture.ts";
import {
	startReceiver,
	type TestReceiver,
	TestRoutes,
	untilReady,
} from "../support/fixtures/data-plane/receiver.ts";
import {
	type Servers,
	startServers,
} from "../support/servers/archive-servers.ts";

/*
 * Two Runs of a Pipeline with days and events in between, through every real part: NATS, archive, manifest, load, table.
 * In some cases the events are webhooks to a receive whose clock the test moves. The test calls the operator's function
 * that plans the days; test/promises runs the operator, too.
 */

let servers: Servers;
let archive: ArchiveFixture;
let receiver: TestReceiver;
let clock: MovedClock;
const ends: (() => Promise<void>)[] = [];

beforeAll(async () => {
	servers = await startServers();
	clock = await MovedClock.make();
	archive = await ArchiveFixture.open(servers, 0, (end) => ends.unshift(end));
	await archive.start();
	await new TestRoutes(archive.connection).markSynced();
	receiver = await startReceiver(servers.nats, { env: clock.env });
	await untilReady(receiver);
});

afterAll(async () => {
	await receiver?.stop();
	for (const end of ends) await end();
	await servers?.stop();
});

interface Case {
	overwritePeriodDays: number;
	/** Days from the first Run to the second. */
	gapDays: number;
	/** Earlier days that an incremental second Run replaces as well. */
	reloadedDaysBack: number;
	/** Days with events before the first Run's own. */
	daysBefore: number;
}

const cases: [string, Case][] = [
	[
		"overwrite 1",
		{ overwritePeriodDays: 1, gapDays: 0, reloadedDaysBack: 1, daysBefore: 3 },
	],
	[
		"a gap of 5 days, overwrite 1",
		{ overwritePeriodDays: 1, gapDays: 5, reloadedDaysBack: 6, daysBefore: 3 },
	],
	[
		"a gap beyond what is retained",
		{
			overwritePeriodDays: 1,
			gapDays: 40,
			reloadedDaysBack: 30,
			daysBefore: 5,
		},
	],
];

const warehouses = {
	DuckDB: async () => {
		const { load, rows, change } = await loadFixture();
		return { load, rows, change, table: "orders" };
	},
	BigQuery: async () => {
		const { load, rows } = await bigQueryFixture();
		const change = async (sql: string) => void (await rows(sql));
		return { load, rows, change, table: "shop.orders" };
	},
};

const strategies = {
	Incremental: columns,
	FullReload: columns.filter(({ from }) => from !== "Date"),
};

// Whatever the period, the planned days are in operator/pipeline/plan-dates.test.ts. A full reload replaces every day.
const matrix = cases.flatMap(([name, one], index) =>
	(
		[
			["DuckDB", "Incremental"],
			...(index === 0
				? ([
						["DuckDB", "FullReload"],
						["BigQuery", "Incremental"],
					] as const)
				: []),
		] as const
	).map(([warehouse, strategy]) => ({ warehouse, strategy, name, ...one })),
);

test.each(matrix)(
	"$warehouse, $strategy, $name: the second Run replaces its days and no other",
	async ({ warehouse, strategy, gapDays, ...expected }) => {
		const { load, rows, change, table } = await warehouses[warehouse]();
		const { path, route } = await new TestRoutes(archive.connection).add();
		const { sourceKey, account } = route;
		// Receive compares its clock with NATS's after each move of it, which takes as long as the rest of the test.
		const isWebhook = warehouse === "DuckDB" && gapDays === 5;
		const input: Partial<LoadInput> = {
			strategy,
			table: { name: "orders", description: "", columns: strategies[strategy] },
		};
		const layout: Layout = {
			sourceKey,
			destination: warehouse,
			table: "orders",
			columns: strategies[strategy].map(({ name }) => name),
			strategy,
		};
		/** Plans the Run's days as the operator does and loads them. Returns its snapshot's time and the days that it replaced. */
		const run = async (today: UtcDate, lastSuccess?: PipelineLastSuccess) => {
			const { overwritePeriodDays } = expected;
			const { spec } = pipelineOf({ overwritePeriodDays });
			const noon = startOfDate(today) + dayMs / 2;
			const plan = planDates(spec, layout, lastSuccess, {}, noon);
			if ("problem" in plan) throw new Error(plan.problem.message);
			const whose = { run: randomUUID(), account, sourceKey };
			const question = { ...whose, end: today, ...plan };
			const answer = await archive.ask(question);
			if (!answer.ok) throw new Error(answer.error.message);
			const manifest = (await (await fetch(answer.url)).json()) as Manifest;
			const end = await load(manifest, {
				input: { ...input, manifestURL: answer.url },
			});
			expect(end.exitCode, end.log).toBe(0);
			return {
				snapshotTime: manifest.snapshotTime,
				dates: manifest.dates.map(({ date }) => date),
			};
		};
		/** As webhooks of these dates, or as frames with an event of the first instant of each. */
		const sendOnEach = async (dates: UtcDate[]) => {
			if (isWebhook)
				for (const date of dates)
					await clock.sendOn(date, receiver.url + path, JSON.stringify(date));
			else
				await archive.publish(
					dates.map((date) =>
						newEvent(JSON.stringify(date), {
							receivedAtMs: startOfDate(date),
							sourceKey,
							account,
						}),
					),
				);
		};

		const today = utcDate(Date.now());
		// Retention would have deleted the events of a Run of 40 days ago.
		const firstRun = addDays(today, -Math.min(gapDays, 25));
		const firstEvent = addDays(firstRun, -expected.daysBefore);
		await sendOnEach(datesBetween(firstEvent, firstRun));
		const { dates: first, snapshotTime } = await run(firstRun);
		expect(first).toEqual(datesBetween(firstEvent, firstRun));

		const older = addDays(today, -45);
		const date = strategy === "Incremental" ? ", date" : "";
		for (const day of [older, ...first])
			await change(
				`insert into ${table} by name select 'marker-${day}' as event_id, timestamptz '${day} 12:00:00+00' as timestamp${date && `, date '${day}' as date`}`,
			);
		// A closed day never gets events. Here it does, to show whether the Run leaves it alone.
		await sendOnEach(datesBetween(firstEvent, today));

		const before = addDays(today, -gapDays);
		const { dates: second } = await run(today, {
			// The first Run wrote the table just now, whatever day it stands for.
			snapshotTime: gapDays === 0 ? snapshotTime : `${before}T12:00:00Z`,
			closedThrough: closedThrough(startOfDate(before) + dayMs / 2),
			layout,
		});
		if (strategy === "Incremental")
			expect(second[0]).toBe(addDays(today, -expected.reloadedDaysBack));
		expect(
			await rows(
				`select timestamp::date::text, count(*) filter (event_id not like 'marker-%')::int, count(*) filter (event_id like 'marker-%')::int from ${table} group by all order by all`,
			),
		).toEqual([
			...(strategy === "Incremental" ? [[older, 0, 1]] : []),
			...datesBetween(firstEvent, today).map((day) => {
				const sent = day <= firstRun ? 2 : 1;
				return second.includes(day) ? [day, sent, 0] : [day, 1, 1];
			}),
		]);
	},
);

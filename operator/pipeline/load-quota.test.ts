import { expect, test } from "vitest";
import type { PipelineSchedule } from "../../crds/generated/types.ts";
import {
	bigQueryOf,
	destinationOf,
	pipelineOf,
	sourceOf,
} from "../../test/support/examples/resource-examples.ts";
import { quotaProblem } from "./load-quota.ts";
import { resolveTarget } from "./target.ts";

function problemOf(
	schedule: PipelineSchedule,
	overwritePeriodDays: number,
	destination = bigQueryOf(),
	spec: Parameters<typeof pipelineOf>[0] = {},
) {
	const pipeline = pipelineOf({ schedule, overwritePeriodDays, ...spec });
	const resolved = resolveTarget({
		pipeline,
		source: sourceOf(),
		destination,
		credentials: [],
		trackingPlan: undefined,
		owner: undefined,
		podPolicy: { labels: [], annotations: [], priorityClasses: [] },
		localWarehouse: undefined,
		clusterDomain: "cluster.local",
		clusterNetworks: [],
	});
	if ("problem" in resolved) throw new Error(resolved.problem.message);
	return quotaProblem(pipeline, resolved.target);
}

const every = (interval: string): PipelineSchedule => ({
	type: "Interval",
	interval,
	timeZone: "UTC",
});
const cron = (cron: string): PipelineSchedule => ({
	type: "Cron",
	cron,
	timeZone: "UTC",
});
const manual: PipelineSchedule = { type: "Manual", timeZone: "UTC" };

test.each([
	["15 minutes, 14 days back", every("15m"), 14],
	["each minute, today alone", cron("* * * * *"), 0],
	["2 minutes, a day back: exactly what is left", every("2m"), 1],
	["by hand", manual, 30],
] as const)("%s is within BigQuery's quota", (_, schedule, days) => {
	expect(problemOf(schedule, days)).toBeUndefined();
});

test.each([
	["15 minutes, 15 days back", every("15m"), 15, 1536, "16m", 14],
	["each minute, a day back", cron("* * * * *"), 1, 2880, "2m", 0],
	[
		"every 5 minutes of half the day",
		cron("*/5 8-19 * * 1"),
		10,
		1584,
		"12m",
		9,
	],
	["each minute, 30 days back", every("1m"), 30, 44_640, "32m", 0],
] as const)(
	"%s is beyond it, and the message has what would fit",
	(_, schedule, days, jobs, interval, lower) => {
		const { reason, message } = problemOf(schedule, days)!;
		expect(reason).toBe("TooManyLoadJobs");
		expect(message).toContain(`would make ${jobs} load jobs a day in table`);
		expect(message).toContain(
			`The shortest interval that fits is ${interval}: set it in spec.schedule.interval, or spec.overwritePeriodDays of at most ${lower}.`,
		);
		expect(problemOf(every(interval), days)).toBeUndefined();
		expect(problemOf(schedule, lower)).toBeUndefined();
	},
);

test("a part of the quota stays for retries and Runs by hand", () => {
	// 1,488 of 1,500.
	expect(problemOf(every("1h"), 30)).toBeUndefined();
	expect(problemOf(every("30m"), 30)?.message).toContain(
		"BigQuery allows 1500 for a table, of which 60 stay for retries and Runs by hand",
	);
});

test("the tables of events in quarantine and of rejected values have each the quota of a table of its own", () => {
	const table = {
		columns: ["Body" as const, "Date" as const],
		onIncompatible: "Fail" as const,
		quarantine: true,
		rejectedValues: true,
	};
	expect(problemOf(every("2m"), 1, bigQueryOf(), { table })).toBeUndefined();
	expect(problemOf(every("1m"), 1, bigQueryOf(), { table })?.message).toContain(
		'would make 2880 load jobs a day in each of tables "load_orders" and "quarantine_load_orders" and "load_orders_rejected"',
	);
});

test("each table that an event type may get counts for the project's quota", () => {
	const table = {
		columns: ["Body" as const, "Date" as const],
		onIncompatible: "Fail" as const,
		perEventType: true,
		eventType: { bodyPointer: "/type" },
	};
	const ofTypes = (interval: string, maxEventTypes?: number, days = 1) =>
		problemOf(every(interval), days, bigQueryOf(), {
			table: { ...table, ...(maxEventTypes && { maxEventTypes }) },
		});
	expect(ofTypes("4m")).toBeUndefined();
	expect(ofTypes("3m")).toMatchObject({
		reason: "TooManyLoadJobs",
		message:
			'480 runs a day with overwritePeriodDays 1 would make 96960 load jobs a day in up to 101 tables "load_orders_*". BigQuery allows 100000 for all tables, of which 4000 stay for retries and Runs by hand. The shortest interval that fits is 4m: set it in spec.schedule.interval, or spec.overwritePeriodDays of at most 0, or lower spec.table.maxEventTypes.',
	});
	expect(ofTypes("3m", 99)).toBeUndefined();
	expect(ofTypes("1m", 3)?.message).toContain(
		'2880 load jobs a day in each of tables "load_orders_*"',
	);
	// Not even today alone fits.
	for (const days of [0, 1])
		expect(ofTypes("1m", 100, days)?.message).toMatch(
			/interval that fits is \dm: set it in spec\.schedule\.interval, or lower spec\.table\.maxEventTypes\.$/,
		);
	expect(ofTypes("30m", 300, 12)?.message).toContain("that fits is 1h: set");
	expect(ofTypes("30m", 300, 30)?.message).toContain("that fits is 2h24m: set");
});

test("a DuckDB file has no quota", () => {
	expect(problemOf(cron("* * * * *"), 30, destinationOf())).toBeUndefined();
});

test("a full reload makes one load job, whatever the overwrite period", () => {
	const table = { columns: ["Body" as const], onIncompatible: "Fail" as const };
	expect(problemOf(every("1m"), 30, bigQueryOf(), { table })).toBeUndefined();
});

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
		podPolicy: { annotations: [], priorityClasses: [] },
		localWarehouse: undefined,
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
	["each 48 minutes, 49 days back: exactly 1,500", every("48m"), 49],
	["by hand", manual, 30],
] as const)("%s is within BigQuery's quota", (_, schedule, days) => {
	expect(problemOf(schedule, days)).toBeUndefined();
});

test.each([
	["15 minutes, 15 days back", every("15m"), 15, 1536],
	["each minute, a day back", cron("* * * * *"), 1, 2880],
	["every 5 minutes of half the day", cron("*/5 8-19 * * 1"), 10, 1584],
] as const)("%s is beyond it", (_, schedule, days, jobs) => {
	expect(problemOf(schedule, days)).toMatchObject({
		reason: "TooManyLoadJobs",
		message: expect.stringContaining(`would make ${jobs} load jobs a day`),
	});
});

test("a DuckDB file has no quota", () => {
	expect(problemOf(cron("* * * * *"), 30, destinationOf())).toBeUndefined();
});

test("a full reload makes one load job, whatever the overwrite period", () => {
	const table = { columns: ["Body" as const], onIncompatible: "Fail" as const };
	expect(problemOf(every("1m"), 30, bigQueryOf(), { table })).toBeUndefined();
});

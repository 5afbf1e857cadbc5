import { expect, test } from "vitest";
import type { Pipeline } from "../../crds/generated/types.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { plannedDates } from "../../test/support/plans/planned-dates.ts";
import { previewOf } from "./preview.ts";

const now = Date.parse("2026-03-28T12:34:56Z");

function pipeline(
	spec: Partial<Pipeline["spec"]>,
	status: Pipeline["status"] = {},
): Pipeline {
	const base = pipelineOf({}, { name: "orders" });
	return { ...base, spec: { ...base.spec, ...spec }, status };
}

test("the next five Runs follow the schedule, over a change of the clocks too", () => {
	const schedule = {
		type: "Daily",
		updateTime: "06:30",
		timeZone: "Europe/Berlin",
	} as const;
	expect(previewOf(pipeline({ schedule }), undefined, now).nextRuns).toEqual([
		"2026-03-29T04:30:00.000Z",
		"2026-03-30T04:30:00.000Z",
		"2026-03-31T04:30:00.000Z",
		"2026-04-01T04:30:00.000Z",
		"2026-04-02T04:30:00.000Z",
	]);
	expect(
		previewOf(pipeline({ schedule, suspend: true }), undefined, now).nextRuns,
	).toEqual([]);
	const manual = pipeline({ schedule: { type: "Manual", timeZone: "UTC" } });
	expect(previewOf(manual, undefined, now).nextRuns).toEqual([]);
});

const layout = {
	sourceKey: "k",
	destination: "d",
	table: "orders",
	columns: ["event_id", "timestamp", "body", "date"],
	strategy: "Incremental" as const,
};
const lastSuccess = {
	snapshotTime: "2026-03-27T10:00:00Z",
	closedThrough: "2026-03-26",
	layout,
};

test.each([
	["a first Run", {}, {}],
	["a Run after another", {}, { lastSuccess }],
	["several days again", { overwritePeriodDays: 3 }, { lastSuccess }],
	["a range", { dateRange: { start: "2026-03-10", end: "2026-03-12" } }, {}],
	["an early range", { dateRange: { start: "2020-01-01", end: "Today" } }, {}],
	[
		"a range within which all is loaded",
		{ dateRange: { end: "2026-03-20" } },
		{ lastSuccess },
	],
	["a late range", { dateRange: { end: "2027-01-01" } }, { lastSuccess }],
] as const)(
	"the dates of %s are those that the operator plans",
	(_, spec, status) => {
		const given = pipeline(spec as Partial<Pipeline["spec"]>, status);
		expect(previewOf(given, undefined, now).dates).toEqual(
			plannedDates(given, layout, "2026-03-28"),
		);
	},
);

test("without a date column, all dates are loaded again", () => {
	const table = {
		...pipelineOf({}, { name: "orders" }).spec.table,
		columns: ["Body"],
	};
	const given = pipeline({ table } as Partial<Pipeline["spec"]>, {
		lastSuccess,
	});
	expect(previewOf(given, undefined, now)).toMatchObject({
		strategy: "FullReload",
		dates: { start: "2026-02-26", end: "2026-03-28" },
	});
});

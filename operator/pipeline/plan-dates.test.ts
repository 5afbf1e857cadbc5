import { expect, test } from "vitest";
import type { LoadExtent } from "../../packages/contracts/manifest.ts";
import {
	addDays,
	closedThrough,
	datesBetween,
	utcDate,
} from "../../packages/contracts/utc-date.ts";
import {
	layout,
	pipelineOf,
	runOf,
} from "../../test/support/examples/resource-examples.ts";
import { planDates as planWithReleases } from "./plan-dates.ts";
import { runHistory } from "./run-history.ts";

const today = "2026-03-31";
const now = Date.parse(`${today}T12:00:00Z`);
const success = {
	snapshotTime: "2026-03-30T10:00:00Z",
	closedThrough: "2026-03-29",
	layout,
};
const fullReload = { ...layout, strategy: "FullReload" } as const;

type Inputs = {
	spec?: Parameters<typeof pipelineOf>[0];
	layout?: typeof layout;
	lastSuccess?: typeof success;
	chosen?: { start: string; end: string };
	full?: true;
};

function plan(inputs: Inputs) {
	return planDates(
		pipelineOf(inputs.spec).spec,
		inputs.layout ?? layout,
		inputs.lastSuccess,
		{
			...(inputs.chosen && { dates: inputs.chosen }),
			...(inputs.full && { full: true }),
		},
		now,
	);
}

test.each<[string, Inputs, [string, string], LoadExtent?]>([
	["the first Run loads all retained days", {}, ["2026-03-01", today]],
	[
		"the next Run begins at the first day that wasn't closed, less the overwrite period",
		{ lastSuccess: success },
		["2026-03-29", today],
		"Rest",
	],
	[
		"without an overwrite period, a Run begins at the first day that wasn't closed",
		{ lastSuccess: success, spec: { overwritePeriodDays: 0 } },
		["2026-03-30", today],
		"Rest",
	],
	[
		"columns in another order are the same layout",
		{
			lastSuccess: {
				...success,
				layout: { ...layout, columns: layout.columns.toReversed() },
			},
		},
		["2026-03-29", today],
		"Rest",
	],
	[
		"another Source fills the table from the start",
		{
			lastSuccess: { ...success, layout: { ...layout, sourceKey: "other" } },
		},
		["2026-03-01", today],
	],
	[
		"another destination is filled from the start",
		{
			lastSuccess: { ...success, layout: { ...layout, destination: "other" } },
		},
		["2026-03-01", today],
	],
	[
		"another table is filled from the start",
		{ lastSuccess: { ...success, layout: { ...layout, table: "other" } } },
		["2026-03-01", today],
	],
	[
		"another column fills the table from the start",
		{ lastSuccess: { ...success, layout: { ...layout, columns: ["body"] } } },
		["2026-03-01", today],
	],
	[
		"a table for the quarantine that is new fills from the start",
		{ layout: { ...layout, quarantine: true } },
		["2026-03-01", today],
	],
	[
		"another filter fills the table from the start",
		{ layout: { ...layout, filter: "f".repeat(16) } },
		["2026-03-01", today],
	],
	[
		"a full reload always loads all retained days",
		{ layout: fullReload, lastSuccess: { ...success, layout: fullReload } },
		["2026-03-01", today],
	],
	[
		"the range's start is respected",
		{ spec: { dateRange: { start: "2026-03-15", end: "Today" } } },
		["2026-03-15", today],
	],
	[
		"the range's start does not bring back days that are no longer retained",
		{ spec: { dateRange: { start: "2026-01-01", end: "Today" } } },
		["2026-03-01", today],
	],
	[
		"the range's end is respected",
		{ spec: { dateRange: { end: "2026-03-10" } } },
		["2026-03-01", "2026-03-10"],
	],
	[
		"a future end is today",
		{ spec: { dateRange: { end: "2026-12-31" } } },
		["2026-03-01", today],
	],
	[
		"a range whose days are all closed leaves nothing to load",
		{ lastSuccess: success, spec: { dateRange: { end: "2026-03-10" } } },
		["2026-03-29", "2026-03-10"],
		"Rest",
	],
	[
		"chosen days are loaded alone",
		{
			chosen: { start: "2026-03-05", end: "2026-03-06" },
			lastSuccess: success,
		},
		["2026-03-05", "2026-03-06"],
		"Chosen",
	],
	[
		"one chosen day is loaded alone",
		{ chosen: { start: "2026-03-05", end: "2026-03-05" } },
		["2026-03-05", "2026-03-05"],
		"Chosen",
	],
	[
		"of chosen days only the retained ones are loaded",
		{ chosen: { start: "2026-02-01", end: "2026-03-02" } },
		["2026-03-01", "2026-03-02"],
		"Chosen",
	],
	[
		"a Run of the whole window loads all retained days again",
		{ lastSuccess: success, full: true },
		["2026-03-01", today],
	],
	[
		"a Run of chosen days whose table lacks the others loads them all",
		{ full: true, chosen: { start: "2026-03-05", end: "2026-03-06" } },
		["2026-03-01", today],
	],
	[
		"a Run of chosen days outside the range loads the days between, too",
		{
			full: true,
			chosen: { start: "2026-03-05", end: "2026-03-06" },
			spec: { dateRange: { start: "2026-03-15", end: "2026-03-20" } },
		},
		["2026-03-05", "2026-03-20"],
	],
])("%s", (_, inputs, [start, end], extent = "Whole") => {
	expect(plan(inputs)).toEqual({ extent, start, end });
});

test.each<[string, Inputs, string]>([
	[
		"days whose events are no longer retained are not emptied",
		{ chosen: { start: "2026-01-01", end: "2026-02-28" } },
		"DatesNotRetained",
	],
	[
		"a table without dates can't be loaded in part",
		{ chosen: { start: today, end: today }, layout: fullReload },
		"DatesNeedDateColumn",
	],
])("%s", (_, inputs, code) => {
	expect(plan(inputs)).toMatchObject({ problem: { code } });
});

test.each<[lastRun: string, thisRun: string, start: string]>([
	["2026-03-30T23:58:00Z", "2026-03-30T23:59:00Z", "2026-03-30"],
	["2026-03-30T23:58:00Z", "2026-03-31T00:03:00Z", "2026-03-30"],
	// A day may get events until five minutes after its midnight, so this one may still lack some.
	["2026-03-31T00:03:00Z", "2026-03-31T00:10:00Z", "2026-03-30"],
	["2026-03-31T00:04:59Z", "2026-03-31T10:00:00Z", "2026-03-30"],
	["2026-03-31T00:05:00Z", "2026-03-31T00:10:00Z", "2026-03-31"],
	["2026-03-30T23:58:00Z", "2026-04-02T12:00:00Z", "2026-03-30"],
])(
	"without an overwrite period, after the Run of %s that of %s begins with %s and misses no event across midnight",
	(lastRun, thisRun, start) => {
		const lastSuccess = {
			snapshotTime: lastRun,
			closedThrough: closedThrough(Date.parse(lastRun)),
			layout,
		};
		const now = Date.parse(thisRun);
		const { spec } = pipelineOf({ overwritePeriodDays: 0 });
		expect(planDates(spec, layout, lastSuccess, {}, now)).toEqual({
			extent: "Rest",
			start,
			end: utcDate(now),
		});
	},
);

test.each(Array.from({ length: 31 }, (_, days) => days))(
	"an overwrite period of %i days goes back that far, within the retained days",
	(overwritePeriodDays) => {
		const { spec } = pipelineOf({ overwritePeriodDays });
		const start = addDays("2026-03-30", -overwritePeriodDays);
		expect(planDates(spec, layout, success, {}, now)).toEqual({
			extent: start > "2026-03-01" ? "Rest" : "Whole",
			start: start < "2026-03-01" ? "2026-03-01" : start,
			end: today,
		});
	},
);

test.each<[string, object, Parameters<typeof planDates>[2], string]>([
	[
		"no Run has loaded it",
		{ start: "2026-01-01", end: "2026-02-28" },
		undefined,
		"is 2026-01-01 to 2026-02-28",
	],
	[
		"it only has an end",
		{ end: "2026-02-28" },
		undefined,
		"ends on 2026-02-28",
	],
	[
		"the last success lacks days of it",
		{ end: "2026-02-28" },
		{ ...success, closedThrough: "2026-02-27" },
		"ends on 2026-02-28",
	],
	[
		"the table would be replaced by nothing",
		{ end: "2026-02-28" },
		{ ...success, layout: fullReload },
		"ends on 2026-02-28",
	],
])(
	"a range of dates that are kept no more can't be loaded if %s, like spec.dates",
	(_, dateRange, last, words) => {
		const { spec } = pipelineOf({ dateRange: dateRange as never });
		const wanted = last?.layout ?? layout;
		expect(planDates(spec, wanted, last, {}, now)).toEqual({
			problem: {
				code: "DatesNotRetained",
				message: `The Pipeline's spec.dateRange ${words}, and no events are kept for these days. Choose dates from 2026-03-01 to 2026-03-31.`,
			},
		});
		const dates = { start: "2026-03-05", end: "2026-03-05" };
		expect(planDates(spec, layout, last, { dates }, now)).toMatchObject(dates);
		const kept = { dateRange: { end: "2026-03-01" as const } };
		expect(
			planDates(pipelineOf(kept).spec, wanted, last, {}, now),
		).not.toHaveProperty("problem");
		// The Source keeps its events for longer.
		const long = planDates(spec, wanted, last, {}, now, { days: 90 });
		expect(long).not.toHaveProperty("problem");
	},
);

test("a range that was loaded before its events went has nothing to load, unless the whole window is asked for", () => {
	const { spec } = pipelineOf({ dateRange: { end: "2026-02-28" } });
	expect(planDates(spec, layout, success, {}, now)).toMatchObject({
		extent: "Rest",
		end: "2026-02-28",
	});
	expect(planDates(spec, layout, success, { full: true }, now)).toMatchObject({
		problem: { code: "DatesNotRetained" },
	});
});

test("a range that begins in the future has no days yet", () => {
	const { spec } = pipelineOf({
		dateRange: { start: "2026-04-05", end: "Today" },
	});
	const plan = planDates(spec, layout, undefined, {}, now);
	expect(plan).toEqual({ extent: "Whole", start: "2026-04-05", end: today });
	if ("problem" in plan) throw new Error("It is no problem.");
	expect(datesBetween(plan.start, plan.end)).toEqual([]);
});

test("days count from the last Run that succeeded, not from a failed Run after it", () => {
	const fail = runOf("failed", {
		phase: "Failed",
		completionTime: "2026-03-30T12:00:00Z",
		snapshotTime: "2026-03-30T11:00:00Z",
		closedThrough: "2026-03-29",
		layout,
	});
	const good = runOf("good", {
		phase: "Succeeded",
		completionTime: "2026-03-25T10:00:05Z",
		snapshotTime: "2026-03-25T10:00:00Z",
		closedThrough: "2026-03-24",
		layout,
	});
	const pipeline = pipelineOf({ overwritePeriodDays: 0 });
	const { lastSuccess } = runHistory(pipeline, [fail, good], Date.parse(today));
	expect(planDates(pipeline.spec, layout, lastSuccess, {}, now)).toEqual({
		extent: "Rest",
		start: "2026-03-25",
		end: today,
	});
});

test("a Run that continues has archive look for dates of its window with releases since the last snapshot", () => {
	const { spec } = pipelineOf({
		overwritePeriodDays: 0,
		dateRange: { start: "2026-03-20", end: "Today" },
	});
	const [snapshotTime, closedThrough] = ["2026-03-30T10:00:00Z", "2026-03-29"];
	const last = { runUID: "uid-7", snapshotTime, closedThrough, layout };
	expect(planWithReleases(spec, layout, last, {}, now)).toMatchObject({
		extent: "Rest",
		releases: { earliest: "2026-03-20", since: snapshotTime, run: "uid-7" },
	});
	const reloaded = { ...last, reloads: ["uid-8"] };
	expect(planWithReleases(spec, layout, reloaded, {}, now)).toMatchObject({
		releases: { run: "uid-7", reloads: ["uid-8"] },
	});
	for (const plan of [
		planWithReleases(spec, layout, last, { full: true }, now),
		planWithReleases(spec, layout, undefined, {}, now),
	])
		expect(plan).not.toHaveProperty("releases");
});

test("the window reaches back as far as the Source's events are kept", () => {
	const { spec } = pipelineOf();
	const window = (retention: { days: number; from?: string }) =>
		planDates(spec, layout, undefined, {}, now, retention);
	expect(window({ days: 400 })).toMatchObject({ start: "2025-02-24" });
	expect(window({ days: 400, from: "2026-02-01" })).toMatchObject({
		start: "2026-02-01",
	});
	const dates = { start: "2025-06-01", end: "2025-06-02" };
	const chosen = planDates(spec, layout, undefined, { dates }, now, {
		days: 400,
	});
	expect(chosen).toMatchObject({ extent: "Chosen", ...dates });
});

test("the last date is that of archive's snapshot, whichever clock is behind", () => {
	const { spec } = pipelineOf();
	const before = Date.parse("2026-03-31T23:59:52Z");
	expect(planWithReleases(spec, layout, undefined, {}, before)).toEqual({
		extent: "Whole",
		start: "2026-03-01",
	});
	// It may be the next day already.
	const dates = { start: "2026-04-01", end: "2026-04-01" };
	expect(planWithReleases(spec, layout, undefined, { dates }, before)).toEqual({
		extent: "Chosen",
		...dates,
	});
	expect(
		planWithReleases(spec, layout, undefined, { dates }, now),
	).toMatchObject({ problem: { code: "DatesNotRetained" } });
	// The oldest day isn't given up before archive does.
	const after = Date.parse("2026-04-01T00:00:10Z");
	expect(planWithReleases(spec, layout, undefined, {}, after)).toMatchObject({
		start: "2026-03-01",
	});
});

/** The dates alone, as archive makes them if its clock is the operator's. */
function planDates(...args: Parameters<typeof planWithReleases>) {
	const plan = planWithReleases(...args);
	if ("problem" in plan) return plan;
	const { releases, end = "9999-12-31", ...dates } = plan;
	return { ...dates, end: [end, utcDate(args[4])].sort()[0]! };
}

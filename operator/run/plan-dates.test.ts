import { expect, test } from "vitest";
import { layout, pipelineOf } from "../../test/resource-examples.ts";
import { planDates } from "./plan-dates.ts";

const today = "2026-03-31";
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
};

function plan(inputs: Inputs) {
	return planDates(
		pipelineOf(inputs.spec).spec,
		inputs.layout ?? layout,
		inputs.lastSuccess,
		inputs.chosen,
		today,
	);
}

test.each<[string, Inputs, [string, string]]>([
	["the first run loads all that is retained", {}, ["2026-03-01", today]],
	[
		"the next from the first day that wasn't closed, less the overwrite period",
		{ lastSuccess: success },
		["2026-03-29", today],
	],
	[
		"without an overwrite period from the first day that wasn't closed",
		{ lastSuccess: success, spec: { overwritePeriodDays: 0 } },
		["2026-03-30", today],
	],
	[
		"columns in another order are the same table",
		{
			lastSuccess: {
				...success,
				layout: { ...layout, columns: layout.columns.toReversed() },
			},
		},
		["2026-03-29", today],
	],
	[
		"another Source is another table to fill",
		{
			lastSuccess: { ...success, layout: { ...layout, sourceKey: "other" } },
		},
		["2026-03-01", today],
	],
	[
		"so is another column",
		{ lastSuccess: { ...success, layout: { ...layout, columns: ["body"] } } },
		["2026-03-01", today],
	],
	[
		"a full reload always loads all",
		{ layout: fullReload, lastSuccess: { ...success, layout: fullReload } },
		["2026-03-01", today],
	],
	[
		"the range's start holds",
		{ spec: { dateRange: { start: "2026-03-15", end: "Today" } } },
		["2026-03-15", today],
	],
	[
		"but brings back nothing that is no longer retained",
		{ spec: { dateRange: { start: "2026-01-01", end: "Today" } } },
		["2026-03-01", today],
	],
	[
		"the range's end holds",
		{ spec: { dateRange: { end: "2026-03-10" } } },
		["2026-03-01", "2026-03-10"],
	],
	[
		"a future end is today",
		{ spec: { dateRange: { end: "2026-12-31" } } },
		["2026-03-01", today],
	],
	[
		"a range that is loaded for good leaves nothing to do",
		{ lastSuccess: success, spec: { dateRange: { end: "2026-03-10" } } },
		["2026-03-29", "2026-03-10"],
	],
	[
		"chosen days are loaded alone",
		{
			chosen: { start: "2026-03-05", end: "2026-03-06" },
			lastSuccess: success,
		},
		["2026-03-05", "2026-03-06"],
	],
	[
		"of chosen days those are left whose events are retained",
		{ chosen: { start: "2026-02-01", end: "2026-03-02" } },
		["2026-03-01", "2026-03-02"],
	],
])("%s", (_, inputs, [start, end]) => {
	expect(plan(inputs)).toEqual({ start, end });
});

test.each<[string, Inputs, string]>([
	[
		"days whose events are gone are not emptied",
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

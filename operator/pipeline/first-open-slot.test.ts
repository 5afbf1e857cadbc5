import { expect, test } from "vitest";
import type { PipelineStatus } from "../../crds/generated/types.ts";
import {
	layout,
	pipelineOf,
} from "../../test/support/examples/resource-examples.ts";
import { firstOpenSlotMs, overdueSeconds } from "./timing.ts";

/** Created on 1 March, midnight; loads each day at 06:00. */
function daily(status: PipelineStatus, suspend = false) {
	return pipelineOf(
		{ schedule: { type: "Daily", updateTime: "06:00" }, suspend },
		{ status },
	);
}

const success = (snapshotTime: string) => ({
	lastSuccess: { snapshotTime, closedThrough: "2026-03-08", layout },
});
const since = (instant: string) => ({
	schedule: { hash: "any", since: instant },
});

test.each([
	[
		"the first slot after the last success",
		{ ...since("2026-03-01T00:00:09Z"), ...success("2026-03-09T06:00:20Z") },
		"2026-03-10T06:00:00Z",
	],
	[
		"the first slot of all before any success",
		since("2026-03-01T00:00:09Z"),
		"2026-03-01T06:00:00Z",
	],
	[
		"the first slot of all before any success, also after slots were skipped",
		since("2026-03-09T06:00:00Z"),
		"2026-03-01T06:00:00Z",
	],
	[
		"none from before the schedule was edited or resumed",
		{ ...since("2026-03-09T12:34:56Z"), ...success("2026-03-02T06:00:20Z") },
		"2026-03-10T06:00:00Z",
	],
	[
		"one that was skipped, since nobody gets its rows either",
		{ ...since("2026-03-09T06:00:00Z"), ...success("2026-03-07T06:00:20Z") },
		"2026-03-08T06:00:00Z",
	],
])("a Pipeline's open slot is %s", (_, status, slot) => {
	expect(new Date(firstOpenSlotMs(daily(status))!).toISOString()).toBe(
		slot.replace("Z", ".000Z"),
	);
});

test("a Pipeline without an active schedule is never overdue", () => {
	const status = since("2026-03-01T00:00:09Z");
	expect(firstOpenSlotMs(daily(status, true))).toBeUndefined();
	expect(firstOpenSlotMs(pipelineOf({}, { status }))).toBeUndefined();
	expect(firstOpenSlotMs(daily({}))).toBeUndefined();
});

test("a slot is overdue from its own time on", () => {
	expect(overdueSeconds(10_000, 9_000)).toBe(0);
	expect(overdueSeconds(10_000, 12_500)).toBe(2.5);
});

import { expect, test } from "vitest";
import type {
	PipelineSpec,
	PipelineStatus,
} from "../../crds/generated/types.ts";
import { parseSchedule } from "../../crds/schedule.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import { pipelineOf } from "../../test/support/examples/resource-examples.ts";
import { decideTiming } from "./timing.ts";

const hourly: Partial<PipelineSpec> = {
	schedule: { type: "Interval", interval: "1h", timeZone: "UTC" },
};

/** Times are of 10 March 2026 unless they have a date of their own. */
const at = (time: string) =>
	Date.parse(time.includes("T") ? time : `2026-03-10T${time}Z`);
const text = (ms: number | undefined) =>
	ms === undefined
		? undefined
		: rfc3339(ms)
				.replace("2026-03-10T", "")
				.replace(/(:00)?Z$/, "");

function timing(
	now: string,
	status: PipelineStatus = {},
	spec = hourly,
	canStart = true,
) {
	const pipeline = pipelineOf(spec, { status });
	const parsed = parseSchedule(pipeline.spec.schedule);
	if (!("schedule" in parsed)) throw new Error(parsed.problem.message);
	return decideTiming(pipeline, parsed.schedule, canStart, at(now));
}

/** The status of a Pipeline whose schedule is in force since then. */
function since(
	time: string,
	last?: string,
	spec: Partial<PipelineSpec> = hourly,
): PipelineStatus {
	const { schedule } = timing(time, {}, { ...spec, suspend: false });
	return {
		schedule: schedule!,
		...(last && { lastScheduleTime: rfc3339(at(last)) }),
	};
}

const cron = (cron: string, timeZone = "UTC"): Partial<PipelineSpec> => ({
	schedule: { type: "Cron", cron, timeZone },
});
const within = (seconds: number): Partial<PipelineSpec> => ({
	...hourly,
	startingDeadlineSeconds: seconds,
});

test.each<{
	rule: string;
	now: string;
	status?: PipelineStatus;
	spec?: Partial<PipelineSpec>;
	canStart?: false;
	due: string | undefined;
	missed?: string;
	deadline?: string;
	next: string | undefined;
}>([
	{
		rule: "a new schedule catches up on nothing",
		now: "12:34:56",
		due: undefined,
		next: "13:00",
	},
	{
		rule: "a slot is due at its own second",
		now: "13:00:00",
		status: since("12:34"),
		due: "13:00",
		next: "14:00",
	},
	{
		rule: "a slot is not due before its second",
		now: "12:59:59.999",
		status: since("12:34"),
		due: undefined,
		next: "13:00",
	},
	{
		rule: "a slot that has its Run is not due again",
		now: "13:00:01",
		status: since("03:00", "13:00"),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "of missed slots the latest is due",
		now: "13:30",
		status: since("03:00", "04:00"),
		due: "13:00",
		next: "14:00",
	},
	{
		rule: "an operator that was down for a week catches up on one slot",
		now: "13:30",
		status: since("2026-03-01T00:00Z", "2026-03-03T13:00Z"),
		due: "13:00",
		next: "14:00",
	},
	{
		rule: "an operator that was down catches up on one slot of a dense schedule",
		now: "13:30:30",
		status: since("2026-03-01T00:00Z", "2026-03-03T13:00Z", cron("* * * * *")),
		spec: cron("* * * * *"),
		due: "13:30",
		next: "13:31",
	},
	{
		rule: "an operator that was down catches up on one slot of a rare schedule, days later",
		now: "13:30",
		status: since("2026-03-01T00:00Z", undefined, cron("0 6 * * SUN")),
		spec: cron("0 6 * * SUN"),
		due: "2026-03-08T06:00",
		next: "2026-03-15T06:00",
	},
	{
		rule: "a slot may start up to its deadline",
		now: "13:01:00",
		status: since("03:00"),
		spec: within(60),
		due: "13:00",
		next: "14:00",
	},
	{
		rule: "a slot is skipped after its deadline",
		now: "13:01:00.001",
		status: since("03:00"),
		spec: within(60),
		due: undefined,
		missed: "13:00",
		next: "14:00",
	},
	{
		rule: "a slot waits while another Run is active",
		now: "13:00:01",
		status: since("03:00", "12:00"),
		canStart: false,
		due: undefined,
		next: "14:00",
	},
	{
		rule: "a slot that waits must start by its deadline",
		now: "13:00:01",
		status: since("03:00", "12:00"),
		spec: within(600),
		canStart: false,
		due: undefined,
		deadline: "13:10",
		next: "14:00",
	},
	{
		rule: "a slot that waited is due when the other Run has ended",
		now: "13:20",
		status: since("03:00", "12:00"),
		due: "13:00",
		next: "14:00",
	},
	{
		rule: "of several slots that waited only the latest is due",
		now: "15:20",
		status: since("03:00", "12:00"),
		due: "15:00",
		next: "16:00",
	},
	{
		rule: "a slot that waited longer than its deadline is skipped",
		now: "13:20",
		status: since("03:00", "12:00"),
		spec: within(600),
		due: undefined,
		missed: "13:00",
		next: "14:00",
	},
	{
		rule: "a slot past its deadline is skipped while another Run is active",
		now: "13:20",
		status: since("03:00", "12:00"),
		spec: within(600),
		canStart: false,
		due: undefined,
		missed: "13:00",
		next: "14:00",
	},
	{
		rule: "a skipped slot is not skipped again",
		now: "13:30",
		status: since("13:00", "12:00"),
		spec: within(600),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "the slot after a skipped one is due in its turn",
		now: "14:00:05",
		status: since("13:00", "12:00"),
		spec: within(600),
		due: "14:00",
		next: "15:00",
	},
	{
		rule: "a suspended schedule has no slots",
		now: "13:00:01",
		status: since("03:00", "12:00"),
		spec: { ...hourly, suspend: true },
		due: undefined,
		next: undefined,
	},
	{
		rule: "a resumed schedule catches up on nothing",
		now: "13:00:01",
		status: { lastScheduleTime: rfc3339(at("05:00")) },
		due: undefined,
		next: "14:00",
	},
	{
		rule: "an edited schedule catches up on nothing",
		now: "13:00:01",
		status: since("03:00", "12:00", cron("*/5 * * * *")),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "an edited time zone is an edited schedule",
		now: "13:00:01",
		status: since("03:00", "12:00", cron("0 * * * *", "Europe/Berlin")),
		spec: cron("0 * * * *"),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "one slot is due after the clock jumps ahead",
		now: "2026-03-20T13:30Z",
		status: since("03:00", "12:00"),
		due: "2026-03-20T13:00",
		next: "2026-03-20T14:00",
	},
	{
		rule: "a slot does not repeat when the clock goes back before it",
		now: "12:59:58",
		status: since("03:00", "13:00"),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "a slot does not repeat when the clock reaches it again",
		now: "13:00:00",
		status: since("03:00", "13:00"),
		due: undefined,
		next: "14:00",
	},
	{
		rule: "a schedule goes on after the clock was far ahead",
		now: "12:30",
		status: since("03:00", "2031-01-01T00:00Z"),
		due: undefined,
		next: "13:00",
	},
	{
		rule: "a schedule goes on if the clock was ahead when it was created",
		now: "12:30",
		status: since("2031-01-01T00:30Z"),
		due: undefined,
		next: "13:00",
	},
	{
		rule: "Manual has no slots",
		now: "12:30",
		status: since("03:00"),
		spec: { schedule: { type: "Manual", timeZone: "UTC" } },
		due: undefined,
		next: undefined,
	},
])("$rule", ({ now, status, spec, canStart, due, missed, ...expected }) => {
	const found = timing(now, status, spec, canStart ?? true);
	const { dueMs, missedMs, deadlineMs, nextMs, lastMs, schedule } = found;
	const { deadline, next } = expected;
	expect(text(deadlineMs)).toBe(deadline);
	expect([dueMs, missedMs, nextMs].map(text)).toEqual([due, missed, next]);
	if (due) expect(text(lastMs)).toBe(due);
	// A skipped slot stays skipped.
	if (missed) expect(schedule?.since).toBe(`2026-03-10T${missed}:00Z`);
});

test("a schedule continues from the moment at which the clock was corrected", () => {
	const wrong = since("03:00", "2031-01-01T00:00Z");
	const set = timing("12:30", wrong);
	expect(set.lastMs).toBeUndefined();
	const status = { schedule: set.schedule! };
	expect(text(timing("13:00", status).dueMs)).toBe("13:00");
});

test("a resumed schedule still shows its last scheduled time", () => {
	const { lastMs } = timing("13:00:01", {
		lastScheduleTime: rfc3339(at("05:00")),
	});
	expect(text(lastMs)).toBe("05:00");
});

test("a schedule counts from when it was first seen", () => {
	const status = since("03:00");
	expect(timing("12:30", status).schedule).toEqual(status.schedule);
	expect(status.schedule?.since).toBe("2026-03-10T03:00:00Z");
});

test("a schedule is the same after an upgrade, and when its CRD gains a field or a default", () => {
	const [same, other] = ["Europe/Berlin", "Europe/Paris"].map((timeZone) => {
		const spec = cron("30 6 * * *", timeZone);
		return timing("12:30", {}, spec).schedule?.hash;
	});
	expect(same).toBe("15e7a8720157eb09");
	expect(other).not.toBe(same);
	const fewer = { type: "Interval", interval: "1h" } as const;
	const more = { ...fewer, timeZone: "UTC", later: "a default" };
	const status = since("03:00", undefined, { schedule: fewer });
	const { dueMs } = timing("12:30", status, { schedule: more });
	expect(text(dueMs)).toBe("12:00");
});

test("a suspended Pipeline still shows its last scheduled time", () => {
	const spec = { ...hourly, suspend: true };
	const { lastMs, schedule } = timing("12:30", since("03:00", "05:00"), spec);
	expect([text(lastMs), schedule]).toEqual(["05:00", undefined]);
});

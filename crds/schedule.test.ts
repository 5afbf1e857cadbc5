import { expect, test } from "vitest";
import type { PipelineSchedule } from "./generated/types.ts";
import {
	latestSlot,
	parseSchedule,
	runsPerDay,
	type Schedule,
} from "./schedule.ts";

function scheduleOf(spec: Partial<PipelineSchedule>): Schedule {
	const parsed = parseSchedule({ type: "Cron", timeZone: "UTC", ...spec });
	if (!("schedule" in parsed) || !parsed.schedule)
		throw new Error(JSON.stringify(parsed));
	return parsed.schedule;
}

/** The next slots after an instant. */
function slots(schedule: Schedule, after: string, count: number): string[] {
	const found: number[] = [];
	for (let at = Date.parse(after); found.length < count; ) {
		at = schedule.next(at);
		found.push(at);
	}
	return found.map((ms) => new Date(ms).toISOString().replace(":00.000", ""));
}

const berlin = { timeZone: "Europe/Berlin" };

test.each<[string, Partial<PipelineSchedule>, string, string[]]>([
	[
		"a time of day is in the schedule's time zone",
		{ type: "Daily", updateTime: "06:30", ...berlin },
		"2026-01-01T05:29:00Z",
		["2026-01-01T05:30Z", "2026-01-02T05:30Z"],
	],
	[
		"a time of day follows daylight saving time",
		{ type: "Daily", updateTime: "06:30", ...berlin },
		"2026-03-27T23:00:00Z",
		["2026-03-28T05:30Z", "2026-03-29T04:30Z"],
	],
	[
		"a skipped time of day comes right after the gap, on the same day",
		{ type: "Daily", updateTime: "02:30", ...berlin },
		"2026-03-28T00:00:00Z",
		["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
	],
	[
		"a repeated time of day comes once",
		{ type: "Daily", updateTime: "02:30", ...berlin },
		"2026-10-24T12:00:00Z",
		["2026-10-25T00:30Z", "2026-10-26T01:30Z"],
	],
	[
		"several cron times in the gap become one",
		{ cron: "*/20 2 * * *", ...berlin },
		"2026-03-28T12:00:00Z",
		["2026-03-29T01:00Z", "2026-03-30T00:00Z"],
	],
	[
		"cron times do not repeat when the clocks go back",
		{ cron: "*/20 2 * * *", ...berlin },
		"2026-10-25T01:10:00Z",
		["2026-10-26T01:00Z", "2026-10-26T01:20Z"],
	],
	[
		"cron times of every hour repeat when the clocks go back, however the fields are spaced",
		{ cron: "  0   *\t* * * ", ...berlin },
		"2026-10-24T23:30:00Z",
		["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
	],
	[
		"cron times of every twelfth hour repeat when the clocks go back over one",
		{ cron: "0 */12 * * *", timeZone: "Atlantic/Azores" },
		"2026-10-24T20:00:00Z",
		["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T13:00Z"],
	],
	[
		"cron accepts names of weekdays",
		{ cron: "0 12 * * MON-FRI" },
		"2026-01-02T12:00:00Z",
		["2026-01-05T12:00Z", "2026-01-06T12:00Z"],
	],
	[
		"cron finds the next leap day",
		{ cron: "0 0 29 2 *" },
		"2026-01-01T00:00:00Z",
		["2028-02-29T00:00Z"],
	],
	[
		"an interval counts from the epoch in any time zone",
		{ type: "Interval", interval: "1h30m", ...berlin },
		"2026-01-01T00:00:00Z",
		["2026-01-01T01:30Z", "2026-01-01T03:00Z"],
	],
	[
		"an interval may have hours of two digits",
		{ type: "Interval", interval: "12h" },
		"2026-01-01T00:00:00Z",
		["2026-01-01T12:00Z", "2026-01-02T00:00Z"],
	],
	[
		"an interval may have minutes alone",
		{ type: "Interval", interval: "15m" },
		"2026-01-01T00:00:00Z",
		["2026-01-01T00:15Z", "2026-01-01T00:30Z"],
	],
])("%s", (_, spec, after, expected) => {
	expect(slots(scheduleOf(spec), after, expected.length)).toEqual(expected);
});

test("a schedule without a time zone is in UTC", () => {
	const parsed = parseSchedule({ type: "Daily", updateTime: "06:30" });
	if (!("schedule" in parsed)) throw new Error(parsed.problem.message);
	expect(slots(parsed.schedule!, "2026-03-10T12:00:00Z", 1)).toEqual([
		"2026-03-11T06:30Z",
	]);
});

test("Manual has no slots", () => {
	expect(parseSchedule({ type: "Manual" })).toEqual({
		schedule: undefined,
	});
});

test.each([
	["hourly", ": it has 1 field. "],
	["0 6 * *", ": it has 4 fields. "],
	["0 0 6 * * *", "it has 6 fields"],
	["61 * * * *", ": 61 is not between 0 and 59. It must"],
	["0 0 30 2 *", "it never matches a date"],
	["H * * * *", "H is not supported"],
	["0,H * * * *", "H is not supported"],
	["at six in the morning", "invalid characters"],
	["*/61 * * * *", ": the minute has 60 values, so a step of 61 is too long."],
	["0 0-5,8-20/25 * * *", "the hour has 24 values"],
	["0 0 1/32 * *", "the day of month has 31 values"],
	["0 0 1 */13 *", "the month has 12 values"],
	["0 0 * * MON-FRI/8", "the day of week has 7 values"],
])("cron %j is refused with the reason", (cron, words) => {
	const parsed = parseSchedule({ type: "Cron", cron, timeZone: "UTC" });
	expect(parsed).toMatchObject({
		problem: {
			reason: "InvalidSchedule",
			message: expect.stringContaining(words),
		},
	});
});

test.each<[PipelineSchedule, number]>([
	[{ type: "Manual" }, 0],
	[{ type: "Daily", updateTime: "06:30" }, 1],
	[{ type: "Interval", interval: "15m" }, 96],
	[{ type: "Interval", interval: "7h" }, 4],
	[{ type: "Cron", cron: "0,30 6-9 * * MON" }, 8],
])("the schedule %j makes %i Runs a day", (spec, runs) => {
	expect(runsPerDay(spec)).toBe(runs);
});

test.each(["Mars/Olympus", "+02:00", "-0530", "UTC+2", "Z"])(
	"the time zone %s, which the IANA database doesn't have, is refused",
	(timeZone) => {
		const spec = { type: "Daily", updateTime: "06:30" } as const;
		expect(parseSchedule({ ...spec, timeZone })).toMatchObject({
			problem: { reason: "InvalidTimeZone" },
		});
	},
);

test("of all missed slots the latest counts, however old and dense they are", () => {
	const at = Date.parse;
	const yearly = scheduleOf({ cron: "0 0 1 1 *" });
	expect(latestSlot(yearly, at("2020-06-01"), at("2026-06-01"))).toBe(
		at("2026-01-01"),
	);
	const everyMinute = scheduleOf({ cron: "* * * * *" });
	expect(latestSlot(everyMinute, 0, at("2026-06-01T00:00:30Z"))).toBe(
		at("2026-06-01T00:00:00Z"),
	);
});

test("between two slots none is missed, and a slot counts from its own instant", () => {
	const hourly = scheduleOf({ type: "Interval", interval: "1h" });
	const at = (time: string) => Date.parse(`2026-06-01T${time}Z`);
	expect(latestSlot(hourly, at("12:00:00"), at("12:59:59"))).toBeUndefined();
	expect(latestSlot(hourly, at("12:00:00"), at("13:00:00"))).toBe(
		at("13:00:00"),
	);
});

test("a schedule has the same slots in whatever order it is asked for them", () => {
	const schedule = scheduleOf({ cron: "30 * * * *", ...berlin });
	const at = (text: string) => Date.parse(text);
	const from = at("2026-10-24T22:10:00Z");
	const forwards = slots(schedule, new Date(from).toISOString(), 6);
	const backwards = Array.from({ length: 6 }, (_, hour) => {
		const slot = schedule.next(from + (5 - hour) * 3_600_000);
		return new Date(slot).toISOString().replace(":00.000", "");
	});
	expect(backwards.toReversed()).toEqual(forwards);
	expect(schedule.next(at("2026-10-25T02:30:00Z"))).toBe(
		at("2026-10-25T03:30:00Z"),
	);
});

test("two Pipelines' schedules of one cron text differ by their time zones", () => {
	const cron = "0 7 * * *";
	const [utc, zoned] = [
		scheduleOf({ cron, timeZone: "UTC" }),
		scheduleOf({ cron, ...berlin }),
	];
	expect(slots(utc, "2026-07-01T00:00:00Z", 1)).toEqual(["2026-07-01T07:00Z"]);
	expect(slots(zoned, "2026-07-01T00:00:00Z", 1)).toEqual([
		"2026-07-01T05:00Z",
	]);
});

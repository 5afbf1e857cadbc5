import { expect, test } from "vitest";
import { cronWords, scheduleOutlook, wallText } from "./schedule.ts";

const now = Date.parse("2026-10-24T12:00:00Z");

test("the next runs are those that the operator makes, over a change of clocks", () => {
	const outlook = scheduleOutlook(
		{ type: "Daily", updateTime: "02:30", timeZone: "Europe/Berlin" },
		now,
		3,
	);
	expect(outlook).toEqual({
		times: [
			"2026-10-25T00:30:00Z",
			"2026-10-26T01:30:00Z",
			"2026-10-27T01:30:00Z",
		].map((text) => Date.parse(text)),
	});
	expect(wallText(now, "Asia/Tokyo")).toBe("Sat, 24 Oct 2026, 21:00 GMT+9");
});

test.each([
	[{ type: "Daily", updateTime: "6:30" }, "schedule.updateTime"],
	[{ type: "Daily" }, "schedule.updateTime"],
	[{ type: "Interval", interval: "25h" }, "schedule.interval"],
	[{ type: "Interval", interval: "" }, "schedule.interval"],
	[{ type: "Cron", cron: "61 * * * *" }, "schedule.cron"],
	[{ type: "Cron", cron: "0 0 30 2 *" }, "schedule.cron"],
	[
		{ type: "Cron", cron: "0 6 * * *", timeZone: "Mars/Base" },
		"schedule.timeZone",
	],
] as const)("%j has its fault at %s", (schedule, path) => {
	expect(scheduleOutlook(schedule, now)).toMatchObject({ fault: { path } });
});

test("a manual schedule has no next run", () => {
	expect(scheduleOutlook({ type: "Manual" }, now)).toEqual({ times: [] });
});

test.each([
	["* * * * *", "every minute, every day"],
	["*/15 * * * *", "every 15 minutes, every day"],
	["5 * * * *", "every hour at :05, every day"],
	["30 6 * * 1-5", "at 06:30, on Monday to Friday"],
	["0 6,18 * * *", "at 06:00 and 18:00, every day"],
	["0 */4 * * *", "every 4 hours at :00, every day"],
	["0 0 1 * *", "at 00:00, on day 1 of the month"],
	["0 0 1 jan,jul *", "at 00:00, on day 1 of the month in January and July"],
	["0 0 13 * 5", "at 00:00, on day 13 of the month and on Friday"],
	["0 9 * * 0,6", "at 09:00, on Saturday and Sunday"],
	["0 9 * * 7", "at 09:00, on Sunday"],
	["*/10 8-17 * * *", "every 10 minutes from 08:00 to 17:59, every day"],
	["0 0 L * *", undefined],
	["nonsense", undefined],
])("%s is in words: %s", (cron, words) => {
	expect(cronWords(cron)).toBe(words);
});

import { expect, test } from "vitest";
import { dateIn, timeIn } from "./dates.ts";

const nowMs = Date.parse("2026-03-01T00:30:00.250Z");

test.each([
	["now", "2026-03-01T00:30:00.250Z"],
	["2h", "2026-02-28T22:30:00.250Z"],
	["45s", "2026-03-01T00:29:15.250Z"],
	["0m", "2026-03-01T00:30:00.250Z"],
	["3d", "2026-02-26T00:30:00.250Z"],
	["1w", "2026-02-22T00:30:00.250Z"],
	["today", "2026-03-01"],
	["yesterday", "2026-02-28"],
	["2026-02-01", "2026-02-01"],
	["2026-02-01T12:00:00+01:00", "2026-02-01T12:00:00+01:00"],
	["2 h", "2 h"],
	["-2h", "-2h"],
	["2y", "2y"],
	["Yesterday", "Yesterday"],
])("as a time, %s is %s", (text, time) => {
	expect(timeIn(text, nowMs)).toBe(time);
});

test.each([
	["now", "2026-03-01"],
	["today", "2026-03-01"],
	["yesterday", "2026-02-28"],
	["31m", "2026-02-28"],
	["30d", "2026-01-30"],
	["2026-02-30", "2026-02-30"],
	["7", "7"],
])("as a date, %s is %s", (text, date) => {
	expect(dateIn(text, nowMs)).toBe(date);
});

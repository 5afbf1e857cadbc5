import { expect, test } from "vitest";
import {
	goesBackMs,
	instantsOfWallTime,
	isTimeZone,
	wallTimeAt,
} from "./wall-clock.ts";

const wall = (text: string) => Date.parse(`${text}Z`);
const instant = (text: string) => new Date(Date.parse(text)).toISOString();

test.each([
	["UTC", "2026-03-29T02:30:00", "2026-03-29T02:30:00Z"],
	["Europe/Berlin", "2026-01-01T06:30:00", "2026-01-01T05:30:00Z"],
	["Europe/Berlin", "2026-07-01T06:30:00", "2026-07-01T04:30:00Z"],
	["Asia/Kolkata", "2026-07-01T00:15:00", "2026-06-30T18:45:00Z"],
	["Pacific/Auckland", "2026-01-01T00:00:00", "2025-12-31T11:00:00Z"],
	["America/New_York", "2026-03-08T12:00:00", "2026-03-08T16:00:00Z"],
])("in %s %s is %s", (zone, local, expected) => {
	const found = instantsOfWallTime(wall(local), zone);
	expect(new Date(found.first).toISOString()).toBe(instant(expected));
	expect(found.last).toBe(found.first);
	expect(wallTimeAt(found.first, zone)).toBe(wall(local));
});

test.each([
	["Europe/Berlin", "2026-03-29T02:00:00", "2026-03-29T01:00:00Z"],
	["Europe/Berlin", "2026-03-29T02:30:00", "2026-03-29T01:00:00Z"],
	["America/New_York", "2026-03-08T02:59:00", "2026-03-08T07:00:00Z"],
	["Australia/Lord_Howe", "2026-10-04T02:10:00", "2026-10-03T15:30:00Z"],
	// Midnight itself is skipped.
	["America/Santiago", "2026-09-06T00:00:00", "2026-09-06T04:00:00Z"],
])(
	"in %s the clocks skip %s, which becomes the first instant after the gap",
	(zone, local, expected) => {
		const found = instantsOfWallTime(wall(local), zone);
		expect(new Date(found.first).toISOString()).toBe(instant(expected));
		expect(found.last).toBe(found.first);
	},
);

test.each([
	["Europe/Berlin", "2026-10-25T02:30:00", "2026-10-25T00:30:00Z", 60],
	["America/New_York", "2026-11-01T01:00:00", "2026-11-01T05:00:00Z", 60],
	["Australia/Lord_Howe", "2026-04-05T01:45:00", "2026-04-04T14:45:00Z", 30],
])(
	"in %s %s occurs first at %s, and again %i minutes later",
	(zone, local, expected, minutes) => {
		const { first, last } = instantsOfWallTime(wall(local), zone);
		expect(new Date(first).toISOString()).toBe(instant(expected));
		expect(last - first).toBe(minutes * 60_000);
	},
);

test.each([
	["2026-10-24T01:30Z", 60],
	["2026-10-25T00:59Z", 60],
	["2026-10-25T01:00Z", 0],
	["2026-03-29T00:30Z", 0],
])("after %s the clocks of Berlin go back by %i minutes", (at, minutes) => {
	const ms = goesBackMs(Date.parse(at), "Europe/Berlin");
	expect(ms).toBe(minutes * 60_000);
});

test("only names of the IANA database are time zones", () => {
	expect(isTimeZone("Europe/Berlin")).toBe(true);
	expect(isTimeZone("Europe/Bärlin")).toBe(false);
});

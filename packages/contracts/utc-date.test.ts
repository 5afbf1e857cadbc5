import { expect, test } from "vitest";
import {
	addDays,
	closedThrough,
	datesBetween,
	startOfDate,
	utcDate,
} from "./utc-date.ts";

test("a date is the UTC date of the instant", () => {
	expect(utcDate(Date.parse("2026-03-01T00:30:00+02:00"))).toBe("2026-02-28");
	expect(startOfDate("2026-02-28")).toBe(Date.UTC(2026, 1, 28));
});

test("days are added across months, leap days and years", () => {
	expect(addDays("2028-02-28", 1)).toBe("2028-02-29");
	expect(addDays("2026-01-01", -1)).toBe("2025-12-31");
});

test("a range of dates includes both ends and is empty when reversed", () => {
	expect(datesBetween("2026-02-27", "2026-03-01")).toEqual([
		"2026-02-27",
		"2026-02-28",
		"2026-03-01",
	]);
	expect(datesBetween("2026-03-02", "2026-03-01")).toEqual([]);
});

test("a date closes five minutes after its midnight", () => {
	expect(closedThrough(Date.parse("2026-03-02T00:04:59.999Z"))).toBe(
		"2026-02-28",
	);
	expect(closedThrough(Date.parse("2026-03-02T00:05:00Z"))).toBe("2026-03-01");
});

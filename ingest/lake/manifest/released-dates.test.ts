import { expect, test } from "vitest";
import { startWithReleases } from "./manifest-dates.ts";

const released = (date: string, ...times: string[]) =>
	[
		date,
		{
			records: times.map((time) => ({
				key: time,
				bytes: 1,
				modifiedMs: Date.parse(time),
			})),
			bytesOf: new Map<string, number>(),
		},
	] as const;

const releases = new Map([
	released("2026-03-01", "2026-03-30T09:00:00Z"),
	released("2026-03-05", "2026-03-20T00:00:00Z", "2026-03-30T09:00:00Z"),
	released("2026-03-07", "2026-03-20T00:00:00Z"),
	// Objects that no record names.
	released("2026-03-06"),
]);

test.each([
	["2026-03-01", "2026-03-30T08:00:00Z", "2026-03-01"],
	["2026-03-02", "2026-03-30T08:00:00Z", "2026-03-05"],
	// The store's clock may be late.
	["2026-03-02", "2026-03-30T09:10:00Z", "2026-03-05"],
	["2026-03-02", "2026-03-30T09:30:00Z", "2026-03-29"],
	["2026-03-06", "2026-03-19T00:00:00Z", "2026-03-07"],
])(
	"of a window from %s on that was loaded at %s, a manifest begins at %s",
	(earliest, since, start) => {
		const asked = { start: "2026-03-29", earliest, since };
		expect(startWithReleases(asked, releases)).toBe(start);
	},
);

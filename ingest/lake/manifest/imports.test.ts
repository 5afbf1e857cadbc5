import { expect, test } from "vitest";
import { dayMs } from "../../../packages/contracts/utc-date.ts";
import { nowSince } from "./imports.ts";

test.each([
	["is right", 60_000, 60_000],
	["is behind", -3 * dayMs, 0],
	["is ahead, or the Job took days", 3 * dayMs, dayMs],
])(
	"an Import's rows are of dates up to its snapshot's or the day's after, if archive's clock %s",
	(_, sinceMs, expected) => {
		const snapshotMs = Date.parse("2026-03-01T12:00:00Z");
		expect(nowSince(snapshotMs, snapshotMs + sinceMs) - snapshotMs).toBe(
			expected,
		);
	},
);

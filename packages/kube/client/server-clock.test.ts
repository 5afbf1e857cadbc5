import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ServerClock } from "./server-clock.ts";

const nowMs = Date.parse("2026-03-10T07:00:00.500Z");

beforeEach(() => {
	vi.useFakeTimers({ now: nowMs });
});

afterEach(() => {
	vi.useRealTimers();
});

test.each<[string, number, number]>([
	["Tue, 10 Mar 2026 07:00:00 GMT", 0, 0],
	["Tue, 10 Mar 2026 06:00:00 GMT", 0, 3_600_000],
	["Tue, 10 Mar 2026 10:00:00 GMT", 0, -10_800_000],
	// The answer took four seconds, and was written in their middle.
	["Tue, 10 Mar 2026 06:59:58 GMT", 4_000, 0],
])(
	"an answer of %s that took %i ms says that this process is %i ms ahead",
	(date, tookMs, aheadMs) => {
		const clock = new ServerClock();
		clock.hear({ date, tookMs });
		expect(clock.aheadMs).toBe(aheadMs);
		expect(clock.now()).toBe(nowMs - aheadMs);
	},
);

test("before the first answer, and after one without a date, the process's own clock counts", () => {
	const clock = new ServerClock();
	clock.hear({ date: undefined, tookMs: 1 });
	clock.hear({ date: "soon", tookMs: 1 });
	expect(clock.aheadMs).toBeUndefined();
	expect(clock.now()).toBe(nowMs);
});

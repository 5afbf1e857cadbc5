import { expect, test } from "vitest";
import { progressBar } from "./follower.ts";

const half = { daysDone: 1, daysTotal: 2, rowsDone: 500, rowsTotal: 1000 };

test("the bar shows the share of rows loaded", () => {
	expect(progressBar("Running", half, 51)).toBe(
		"[█████████░░░░░░░░░] 1 of 2 days, 500 of 1,000 rows",
	);
	const whole = { ...half, daysDone: 2, rowsDone: 1000 };
	expect(progressBar("Running", whole, 80)).not.toContain("░");
});

test("without rows, the bar shows the share of days loaded", () => {
	const none = { daysDone: 0, daysTotal: 1, rowsDone: 0, rowsTotal: 0 };
	expect(progressBar("Running", none, 80)).toContain(
		"░] 0 of 1 day, 0 of 0 rows",
	);
});

test("without progress, the line is the phase; no line is wider than the terminal", () => {
	expect(progressBar("Pending", undefined, 80)).toBe("Pending");
	for (const columns of [3, 20, 40, 200])
		expect(progressBar("Running", half, columns).length).toBeLessThanOrEqual(
			columns,
		);
});

import { expect, test } from "vitest";
import { decide, maxAttempts } from "./delivery-step.ts";

test.each([200, 202, 204, 299])("%d is a delivery", (status) => {
	expect(decide({ status }, 1, 0)).toEqual({ state: "Delivered" });
});

test.each([
	[{ status: 199 }, "status 199"],
	[{ status: 301 }, "status 301. Redirects are not followed"],
	[{ status: 404 }, "status 404"],
	[{ status: 500 }, "status 500"],
	[{ error: "No." }, "No."],
])("%j is tried again", (outcome, error) => {
	expect(decide(outcome, 1, 0)).toEqual({
		state: "Delivering",
		afterMs: 5_000,
		error: expect.stringContaining(error),
	});
});

test("a receiver that is gone isn't called again", () => {
	expect(decide({ status: 410 }, 1, 0)).toMatchObject({ state: "Failed" });
});

test("attempts go on for more than a day, further and further apart, and then end", () => {
	let [sumMs, lastMs] = [0, 0];
	for (let attempt = 1; attempt < maxAttempts; attempt++) {
		const step = decide({ status: 500 }, attempt, 0);
		if (step.state !== "Delivering") throw new Error(step.state);
		expect(step.afterMs).toBeGreaterThanOrEqual(lastMs);
		lastMs = step.afterMs;
		sumMs += step.afterMs;
	}
	expect(sumMs).toBeGreaterThan(24 * 3_600_000);
	for (const attempt of [maxAttempts, maxAttempts + 1])
		expect(decide({ status: 500 }, attempt, 0)).toEqual({
			state: "Failed",
			error: "The receiver answered with status 500.",
		});
});

test.each([
	["120", 120_000],
	["1", 5_000],
	["999999999", 3_600_000],
	["-5", 5_000],
	["Wed, 21 Oct 2026 07:28:00 GMT", 5_000],
	["Infinity", 3_600_000],
])("Retry-After: %s is honoured within an hour", (retryAfter, afterMs) => {
	expect(decide({ status: 429, retryAfter }, 1, 0)).toMatchObject({ afterMs });
});

test("waits differ by a fifth at random", () => {
	expect(decide({ status: 500 }, 1, 1)).toMatchObject({ afterMs: 6_000 });
	const step = decide({ status: 500 }, 1, 0.123456789);
	expect(step.state === "Delivering" && step.afterMs % 1).toBe(0);
});

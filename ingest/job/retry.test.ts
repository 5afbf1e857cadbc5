import { expect, test } from "vitest";
import { retryDelayMs } from "./retry.ts";

test("pauses grow to 8 s with jitter, so that eight attempts outlast a restart", () => {
	const least = [1, 2, 3, 4, 5, 6, 7].map((n) => retryDelayMs(n, 0));
	const most = [1, 2, 3, 4, 5, 6, 7].map((n) => retryDelayMs(n, 1));
	expect(least).toEqual([25, 50, 100, 200, 400, 800, 800]);
	expect(most).toEqual([250, 500, 1000, 2000, 4000, 8000, 8000]);
});

import { expect, test } from "vitest";
import { ApiProblem, passes, problemOf } from "./problem.ts";
import { retryWaitMs } from "./use-loaded.ts";

const busy = (retryAfter?: string) =>
	problemOf(429, '{"code":"TooManyRequests"}', undefined, retryAfter);

test("a page waits longer after each failure, and never less than the API's Retry-After", () => {
	const waits = [1, 2, 3, 9].map((failures) =>
		retryWaitMs(busy(), failures, () => 1),
	);
	expect(waits).toEqual([4_000, 8_000, 16_000, 60_000]);
	expect(retryWaitMs(busy(), 1, () => 0)).toBe(2_000);
	expect(retryWaitMs(busy("30"), 1, () => 0)).toBe(32_000);
	expect(retryWaitMs(busy("never"), 1, () => 0)).toBe(2_000);
});

test("only what may pass is asked for again", () => {
	const away = new ApiProblem(0, "Away", "The API doesn't answer.");
	const answers = [400, 401, 403, 404, 409, 412, 500, 503, 504].map((status) =>
		problemOf(status, '{"code":"Forbidden"}', undefined),
	);
	expect(
		[away, busy(), problemOf(502, "<html>", undefined), ...answers]
			.filter(passes)
			.map(({ status }) => status),
	).toEqual([0, 429, 502, 503, 504]);
});

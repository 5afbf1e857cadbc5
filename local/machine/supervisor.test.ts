import { expect, test } from "vitest";
import { restartDelayMs } from "./supervisor.ts";

test("a crashed child restarts soon, and later each time it crashes again", () => {
	expect([1, 2, 3, 6, 7, 50].map(restartDelayMs)).toEqual([
		500, 1000, 2000, 16_000, 30_000, 30_000,
	]);
});

import { expect, test } from "vitest";
import { backoffMs } from "./pause.ts";

const bounds = { baseMs: 100, maxMs: 1_000 };

test.each([
	[0, 100],
	[1, 100],
	[2, 200],
	[4, 800],
	[5, 1_000],
	[5_000, 1_000],
])("after %i failures the wait is half to all of %i ms", (failures, ms) => {
	expect(backoffMs(failures, bounds, () => 0)).toBe(ms / 2);
	expect(backoffMs(failures, bounds, () => 0.5)).toBe((ms * 3) / 4);
	expect(backoffMs(failures, bounds, () => 1)).toBe(ms);
});

import { expect, test } from "vitest";
import { tableOf } from "./figures.ts";
import { compared, figure, requireGoal } from "./measurement.ts";

test("a table has medians, the least and the most of the rounds, the goal, and what it was measured on", () => {
	const throughput = compared("throughput", "events/s", [3, 1, 2], [2, 2, 1], {
		ratioAtLeast: 0.9,
	});
	const conditions = {
		commit: "abc",
		date: "2026-11-23T10:00:00.000Z",
		cpu: "2 × Fast",
		node: "v26.0.0",
		load: [0.5, 2] as [number, number],
		settings: "BENCH_EVENTS=5",
	};
	expect(tableOf("receive", [throughput], conditions)).toBe(`\
| receive | value | baseline | ratio | rounds | goal |
| --- | --- | --- | --- | --- | --- |
| throughput | 2 (1–3) events/s | 2 (1–2) events/s | 1.5 (0.5–2) | 3 | ratio ≥ 0.9 |

2026-11-23, commit abc, BENCH_EVENTS=5, 2 × Fast, Node v26.0.0, load average 0.5 and then 2.0.`);
});

test.each([
	[
		"grows by more than its goal",
		compared("heap", "MiB", 32, 30, { ratioAtMost: 1.05 }),
		"heap: 1.067",
	],
	[
		"falls by more than its goal",
		compared("heap", "MiB", 25, 31, { ratioAtLeast: 0.9, ratioAtMost: 1.1 }),
		"heap: 0.806",
	],
	[
		"is more than its goal",
		figure("requests", 3, "", { atMost: 2 }),
		"requests: 3.000",
	],
	[
		"is less than its goal",
		figure("left", 1, "", { atLeast: 2 }),
		"left: 1.000",
	],
	[
		"meets its goals",
		compared("heap", "MiB", 31, 30, { ratioAtMost: 1.05 }),
		undefined,
	],
])("a bench fails and says why if a figure %s", (_, measured, missed) => {
	const said: string[] = [];
	const before = process.exitCode;
	try {
		process.exitCode = undefined;
		requireGoal(measured, (text) => said.push(text));
		expect(said).toEqual(missed === undefined ? [] : [`MISSED: ${missed}`]);
		expect(process.exitCode).toBe(missed === undefined ? undefined : 1);
	} finally {
		process.exitCode = before;
	}
});

test("rounds of a ratio are compared one by one", () => {
	expect(compared("m", "s", [10, 1], [10, 1])).toMatchObject({
		ratio: 1,
		ratioSpread: [1, 1],
	});
	expect(() => compared("m", "s", [1, 2], [1])).toThrow("rounds");
});

import { expect, test } from "vitest";
import { ShardYear, type SimulatedDay } from "./shard-year.ts";
import type { YearOptions } from "./year-options.ts";

/** A cut a minute. */
const small = { eventsPerSecond: 2, sources: 2 };

async function live(options: Omit<YearOptions, keyof typeof small>) {
	const days: SimulatedDay[] = [];
	const held = () => 0;
	await ShardYear.run({ ...small, ...options }, held, (day) => days.push(day));
	return days;
}

test("after retention has removed the first dates, a shard's bucket and its requests stay as they are", async () => {
	const days = await live({ days: 48, factor: 120, restartOn: 37 });
	const [settled, last] = [days[36]!, days[47]!];
	expect(last.objects).toBeLessThan(1.05 * settled.objects);
	expect(last.dollars).toBeLessThan(1.05 * settled.dollars);
	expect(days[10]!.objects).toBeLessThan(0.6 * last.objects);
});

test("cuts that stand for many cost as much as each by itself", async () => {
	const scaled = await live({ days: 5, factor: 36 });
	const whole = await live({ days: 5, factor: 36, wholeDay: 3 });
	// What a day's objects cost goes on for two days: they are compacted, and removed.
	const sums = [scaled, whole].map((days) => {
		const sum = (type: keyof SimulatedDay["requests"]) =>
			days.slice(2).reduce((all, { requests }) => all + requests[type], 0);
		return { put: sum("put"), get: sum("get"), list: sum("list") };
	});
	for (const type of ["put", "get", "list"] as const)
		expect(sums[1]![type] / sums[0]![type]).toBeCloseTo(1, 1);
	expect(whole[2]!.objects / scaled[2]!.objects).toBeCloseTo(1, 1);
});

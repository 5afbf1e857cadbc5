import { expect, test } from "vitest";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

test("two tasks run at once, the others wait in their order, and a failure frees its place", async () => {
	const limit = new ConcurrencyLimit(2);
	let [running, most] = [0, 0];
	const order: number[] = [];
	const task = (number: number) =>
		limit.run(async () => {
			order.push(number);
			most = Math.max(most, ++running);
			await new Promise(setImmediate);
			running--;
			if (number === 1) throw new Error("failed");
			return number;
		});
	const results = await Promise.allSettled([0, 1, 2, 3, 4].map(task));
	expect(most).toBe(2);
	expect(order).toEqual([0, 1, 2, 3, 4]);
	expect(results.map(({ status }) => status)).toEqual([
		"fulfilled",
		"rejected",
		"fulfilled",
		"fulfilled",
		"fulfilled",
	]);
});

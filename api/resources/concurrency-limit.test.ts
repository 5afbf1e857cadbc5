import { expect, test } from "vitest";
import { Turnstile } from "./concurrency-limit.ts";

test("so many work at once, the others in their order, whatever fails", async () => {
	const turnstile = new Turnstile(2);
	let [working, most] = [0, 0];
	const order: number[] = [];
	const work = (number: number) =>
		turnstile.pass(async () => {
			order.push(number);
			most = Math.max(most, ++working);
			await new Promise(setImmediate);
			working--;
			if (number === 1) throw new Error("failed");
			return number;
		});
	const results = await Promise.allSettled([0, 1, 2, 3, 4].map(work));
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

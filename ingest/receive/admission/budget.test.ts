import { expect, test } from "vitest";
import { Budget } from "./budget.ts";

test("a source alone gets half, and each further source gets less", () => {
	const budget = new Budget(100, 1_000);
	const fill = (source: string) => {
		let entered = 0;
		while (budget.enter(source)) entered++;
		return entered;
	};
	expect(fill("a")).toBe(50);
	expect(fill("b")).toBe(25);
	expect(fill("c")).toBe(13);
	expect(budget.requests).toBe(88);
});

test("the same holds for bytes, and returned bytes are free for others", () => {
	const budget = new Budget(100, 1_000);
	const a = budget.enter("a")!;
	const b = budget.enter("b")!;
	expect(a.take(500)).toBe(true);
	expect(a.take(1)).toBe(false);
	expect(b.take(251)).toBe(false);
	expect(b.take(250)).toBe(true);
	a.give(500);
	expect(b.take(125)).toBe(true);
	expect(budget.bytes).toBe(375);
});

test("a source that holds nothing starts afresh", () => {
	const budget = new Budget(2, 10);
	for (let i = 0; i < 5; i++) {
		const share = budget.enter("a")!;
		expect(share.take(5)).toBe(true);
		share.leave();
		share.give(5);
	}
	expect(budget).toMatchObject({ requests: 0, bytes: 0 });
});

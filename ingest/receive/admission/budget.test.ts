import { expect, test } from "vitest";
import { MemoryBudget } from "./budget.ts";

/** Enters as many requests of the Source as there is room for; how many. */
function fill(budget: MemoryBudget, account: string, source = "a"): number {
	let entered = 0;
	while (budget.enter(account, source)) entered++;
	return entered;
}

test("a Source alone gets a third, and each further Source of its account gets less", () => {
	const budget = new MemoryBudget(1_000, 1_000);
	expect(["a", "b", "c"].map((source) => fill(budget, "shop", source))).toEqual(
		[333, 111, 37],
	);
	expect(budget.requests).toBe(481);
});

test("an account with any number of Sources gets no more than half, so that another account finds room", () => {
	const budget = new MemoryBudget(1_000, 1_000);
	for (let n = 0; n < 100; n++) fill(budget, "greedy", String(n));
	expect(budget.requests).toBe(499);
	expect(fill(budget, "other")).toBe(167);
	expect(fill(budget, "third")).toBe(111);
});

test("the same holds for bytes, and returned bytes are free for others", () => {
	const budget = new MemoryBudget(1_000, 1_000);
	const greedy = Array.from({ length: 28 }, (_, n) =>
		budget.enter("greedy", String(n)),
	);
	const taken = greedy.filter((share) => share!.take(40));
	expect(budget.bytes).toBeLessThanOrEqual(500);
	const other = budget.enter("other", "a")!;
	expect(other.take(174)).toBe(false);
	expect(other.take(173)).toBe(true);
	for (const share of taken) share!.give(40);
	expect(budget.bytes).toBe(173);
	expect(other.take(160)).toBe(true);
});

test("a Source that holds nothing starts afresh", () => {
	const budget = new MemoryBudget(3, 15);
	for (let i = 0; i < 5; i++) {
		const share = budget.enter("shop", "a")!;
		expect(share.take(5)).toBe(true);
		share.leave();
		share.give(5);
	}
	expect(budget).toMatchObject({ requests: 0, bytes: 0 });
});

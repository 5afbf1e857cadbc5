import { expect, test } from "vitest";
import { RateLimit } from "./rate-limit.ts";

const windowMs = 60_000;

test("a subject has its limit in each window, and another subject its own", async () => {
	const { limit, clock } = limitOf(2);
	clock.now = 10_500;
	expect(await limit.take("a")).toEqual({
		limit: 2,
		remaining: 1,
		resetSeconds: 50,
		isOver: false,
	});
	expect(await limit.take("a")).toMatchObject({ remaining: 0, isOver: false });
	expect(limit.isUsedUp("a")).toBe(true);
	expect(await limit.take("a")).toMatchObject({ remaining: 0, isOver: true });
	expect(await limit.take("b")).toMatchObject({ remaining: 1, isOver: false });
	clock.now = windowMs;
	expect(limit.isUsedUp("a")).toBe(false);
	expect(await limit.take("a")).toMatchObject({ remaining: 1, isOver: false });
});

test("replicas share a count", async () => {
	const counts = new Map<string, number>();
	const shared = {
		add: async (window: number, subject: string) => {
			const key = `${window} ${subject}`;
			counts.set(key, (counts.get(key) ?? 0) + 1);
			return counts.get(key)!;
		},
	};
	const one = limitOf(3, shared).limit;
	const two = limitOf(3, shared).limit;
	await one.take("a");
	await two.take("a");
	await one.take("a");
	expect(await two.take("a")).toMatchObject({ isOver: true });
});

test("a replica counts on from what it knows while the shared count is away, and asks again a second later", async () => {
	let asked = 0;
	const shared = {
		add: async () => {
			asked++;
			if (asked > 1) throw new Error("away");
			return 5;
		},
	};
	const { limit, clock } = limitOf(6, shared);
	expect((await limit.take("a")).remaining).toBe(1);
	expect((await limit.take("a")).remaining).toBe(0);
	expect((await limit.take("a")).isOver).toBe(true);
	expect(asked).toBe(2);
	clock.now += 1_000;
	await limit.take("a");
	expect(asked).toBe(3);
});

function limitOf(
	limit: number,
	shared?: { add(window: number, subject: string): Promise<number> },
) {
	const clock = { now: 0 };
	return {
		clock,
		limit: new RateLimit({ limit, windowMs, shared, now: () => clock.now }),
	};
}

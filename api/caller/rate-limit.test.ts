import { expect, test } from "vitest";
import { RateLimit, type SharedCounter } from "./rate-limit.ts";

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
		add: async (window: number, subject: string, requests: number) => {
			const key = `${window} ${subject}`;
			counts.set(key, (counts.get(key) ?? 0) + requests);
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

test("replicas count a thousandth of a high limit ahead: never more pass than may", async () => {
	let [count, asked] = [0, 0];
	const shared = {
		add: async (_window: number, _subject: string, requests: number) => {
			asked++;
			count += requests;
			return count;
		},
	};
	const replicas = [limitOf(2_000, shared).limit, limitOf(2_000, shared).limit];
	let passed = 0;
	for (let request = 0; request < 2_010; request++) {
		const { isOver } = await replicas[request % 2]!.take("a");
		if (!isOver) passed++;
	}
	expect(passed).toBe(2_000);
	expect(asked).toBe(2_010 / 3);
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

function limitOf(limit: number, shared?: SharedCounter) {
	const clock = { now: 0 };
	return {
		clock,
		limit: new RateLimit({ limit, windowMs, shared, now: () => clock.now }),
	};
}

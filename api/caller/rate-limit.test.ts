import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import {
	BatchedCounter,
	RateLimit,
	rateHeaders,
	rateLimited,
	type SharedCounter,
} from "./rate-limit.ts";

const windowMs = 60_000;

test("each subject has its limit in each window", async () => {
	const { limit, clock } = limitOf(2);
	clock.now = 10_500;
	expect(await limit.count("a")).toEqual({
		limit: 2,
		remaining: 1,
		resetSeconds: 50,
		isExceeded: false,
	});
	expect(await limit.count("a")).toMatchObject({
		remaining: 0,
		isExceeded: false,
	});
	expect(await limit.count("a")).toMatchObject({
		remaining: 0,
		isExceeded: true,
	});
	expect(await limit.count("b")).toMatchObject({
		remaining: 1,
		isExceeded: false,
	});
	clock.now = windowMs;
	expect(await limit.count("a")).toMatchObject({
		remaining: 1,
		isExceeded: false,
	});
});

test("a subject's standing counts nothing and excludes nobody", async () => {
	const { limit, clock } = limitOf(1);
	await limit.count("a");
	await limit.count("a");
	expect(limit.standing("a")).toMatchObject({
		remaining: 0,
		isExceeded: false,
	});
	expect(limit.standing("b")).toMatchObject({ remaining: 1 });
	clock.now = windowMs;
	expect(limit.standing("a")).toMatchObject({ remaining: 1 });
	expect(await limit.count("b")).toMatchObject({ remaining: 0 });
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
	await one.count("a");
	await two.count("a");
	await one.count("a");
	expect(await two.count("a")).toMatchObject({ isExceeded: true });
});

test("replicas reserve a thousandth of a high limit and never exceed the limit together", async () => {
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
		const { isExceeded } = await replicas[request % 2]!.count("a");
		if (!isExceeded) passed++;
	}
	expect(passed).toBe(2_000);
	expect(asked).toBe(2_010 / 3);
});

test("while the shared counter is away, a replica counts on from its own count and asks again a second later", async () => {
	let asked = 0;
	const shared = {
		add: async () => {
			asked++;
			if (asked > 1) throw new Error("away");
			return 5;
		},
	};
	const { limit, clock } = limitOf(6, shared);
	expect((await limit.count("a")).remaining).toBe(1);
	expect((await limit.count("a")).remaining).toBe(0);
	expect((await limit.count("a")).isExceeded).toBe(true);
	expect(asked).toBe(2);
	clock.now += 1_000;
	await limit.count("a");
	expect(asked).toBe(3);
});

test("one call counts simultaneous requests, and each gets its own count", async () => {
	const { batched, calls } = counter();
	const counts = Promise.all([
		batched.add(1, "a"),
		batched.add(1, "a"),
		batched.add(1, "b"),
		batched.add(1, "a"),
		batched.add(2, "a"),
	]);
	await expectCalls(calls, 3);
	calls[0]!.answer(10);
	calls[1]!.answer(1);
	calls[2]!.answer(7);
	expect(await counts).toEqual([8, 9, 1, 10, 7]);
	expect(calls.map(({ request }) => request)).toEqual([
		[1, "a", 3],
		[1, "b", 1],
		[2, "a", 1],
	]);
});

test("the next call counts requests that arrive during a call", async () => {
	const { batched, calls } = counter();
	const first = batched.add(1, "a");
	await expectCalls(calls, 1);
	const later = [batched.add(1, "a"), batched.add(1, "a")];
	await nextTurn();
	expect(calls).toHaveLength(1);
	calls[0]!.answer(5);
	expect(await first).toBe(5);
	await expectCalls(calls, 2);
	expect(calls[1]!.request).toEqual([1, "a", 2]);
	calls[1]!.answer(9);
	expect(await Promise.all(later)).toEqual([8, 9]);
});

test("reserved counts need no call", async () => {
	const { batched, calls } = counter(2);
	const counts = Promise.all([batched.add(1, "a"), batched.add(1, "a")]);
	await expectCalls(calls, 1);
	const late = batched.add(1, "a");
	calls[0]!.answer(104);
	expect([...(await counts), await late]).toEqual([101, 102, 103]);
	expect(await batched.add(1, "a")).toBe(104);
	expect(calls.map(({ request }) => request)).toEqual([[1, "a", 4]]);
	void batched.add(1, "a");
	void batched.add(1, "b");
	void batched.add(2, "a");
	await expectCalls(calls, 4);
});

test("a failed call fails for all that wait for it, and the next request calls again", async () => {
	const { batched, calls } = counter();
	const lost = [batched.add(1, "a"), batched.add(1, "a")];
	await expectCalls(calls, 1);
	lost.push(batched.add(1, "a"));
	calls[0]!.fail(new Error("away"));
	for (const one of await Promise.allSettled(lost))
		expect(one.status).toBe("rejected");
	const next = batched.add(1, "a");
	await expectCalls(calls, 2);
	expect(calls[1]!.request).toEqual([1, "a", 1]);
	calls[1]!.answer(3);
	expect(await next).toBe(3);
});

/** A counter whose calls the test answers. */
function counter(reserve = 0) {
	const calls: {
		request: [window: number, subject: string, requests: number];
		answer: (count: number) => void;
		fail: (error: Error) => void;
	}[] = [];
	const batched = new BatchedCounter(
		{
			add: (...request) =>
				new Promise((answer, fail) => {
					calls.push({ request, answer, fail });
				}),
		},
		reserve,
	);
	return { batched, calls };
}

/** Expects this number of calls after a few turns of the event loop. */
async function expectCalls(calls: unknown[], number: number): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await nextTurn();
	expect(calls).toHaveLength(number);
}

test("the answer has the limit, what is left of it, and the seconds to the next window", () => {
	const status = {
		limit: 120,
		remaining: 0,
		resetSeconds: 42,
		isExceeded: true,
	};
	expect(rateHeaders(status)).toEqual({
		"x-ratelimit-limit": "120",
		"x-ratelimit-remaining": "0",
		"x-ratelimit-reset": "42",
	});
	const error = rateLimited(status, true);
	expect(error.status).toBe(429);
	expect(error.headers).toEqual({ "retry-after": "42" });
	expect(error.message).toBe(
		"More than 120 requests in a minute; all tokens of an account count together. Retry in 42 seconds.",
	);
	expect(rateLimited(status, false).message).toBe(
		"More than 120 requests without a valid token came from your network in a minute. Send a valid token, or retry in 42 seconds.",
	);
});

function limitOf(limit: number, shared?: SharedCounter) {
	const clock = { now: 0 };
	return {
		clock,
		limit: new RateLimit({ limit, windowMs, shared, now: () => clock.now }),
	};
}

import { expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

test("a burst goes through at once, then one every tenth of a second", () => {
	const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
	const waits = Array.from({ length: 5 }, () => bucket.reserve(0));
	expect(waits).toEqual([0, 0, 0, 100, 200]);
});

test("a bucket refills with time, up to its burst", () => {
	const bucket = new TokenBucket({ perSecond: 10, burst: 2 });
	for (const _ of [1, 2, 3]) bucket.reserve(0);
	expect(bucket.reserve(250)).toBe(0);
	const rested = Array.from({ length: 3 }, () => bucket.reserve(3_600_000));
	expect(rested).toEqual([0, 0, 100]);
});

test("what isn't there can't be taken, and costs nothing", () => {
	const bucket = new TokenBucket({ perSecond: 0.1, burst: 20 });
	const taken = (nowMs: number) =>
		Array.from({ length: 100 }, () => bucket.take(nowMs)).filter(Boolean)
			.length;
	expect([0, 9_000, 20_001, 3_600_000].map(taken)).toEqual([20, 0, 2, 20]);
});

import { expect, test } from "vitest";
import { MinimumRate } from "./minimum-rate.ts";

function watched(rate: MinimumRate, perSecond: number, bytes = 0) {
	const body = {
		bytes,
		perSecond,
		isEnded: false,
		end: () => {},
		tooSlow() {
			body.isEnded = true;
			body.end();
		},
	};
	body.end = rate.watch(body);
	return body;
}

function pass(
	rate: MinimumRate,
	bodies: ReturnType<typeof watched>[],
	fromSecond: number,
	toSecond: number,
): void {
	for (let second = fromSecond; second < toSecond; second++) {
		for (const body of bodies) if (!body.isEnded) body.bytes += body.perSecond;
		rate.tick(1_000 * (second + 1));
	}
}

test("a body slower than 1 KiB/s ends within 10 s, and no faster one does", () => {
	const rate = new MinimumRate();
	rate.tick(5_000);
	const slow = watched(rate, 1_000);
	const silent = watched(rate, 0);
	// Nearly all of a large body, and then a byte at a time.
	const stalled = watched(rate, 1, 1_048_575);
	const steady = watched(rate, 1_024);
	pass(rate, [slow, silent, stalled, steady], 5, 14);
	for (const body of [slow, silent, stalled]) expect(body.isEnded).toBe(false);
	pass(rate, [slow, silent, stalled, steady], 14, 100);
	for (const body of [slow, silent, stalled]) expect(body.isEnded).toBe(true);
	expect(stalled.bytes).toBe(1_048_585);
	expect(steady.isEnded).toBe(false);
});

test("a body that is whole is watched no longer, in whatever order bodies end", () => {
	const rate = new MinimumRate();
	const bodies = Array.from({ length: 50 }, () => watched(rate, 0));
	const ended = bodies.filter((_, n) => n % 3 === 0).reverse();
	for (const body of ended) body.end();
	pass(rate, bodies, 0, 20);
	for (const body of bodies) expect(body.isEnded).toBe(!ended.includes(body));
});

import { expect, test, vi } from "vitest";
import { keepRenewed } from "./stack.ts";

test("a token is renewed when half of its life is over, and tried again after a failure", async () => {
	const stop = new AbortController();
	let nowMs = 0;
	let checks = 0;
	const renewedAtMs: number[] = [];
	const renew = async () => {
		renewedAtMs.push(nowMs);
		if (renewedAtMs.length === 1) throw new Error("no apiserver");
	};
	const ended = keepRenewed(renew, {
		lifeMs: 100,
		signal: stop.signal,
		checkMs: 1,
		now: () => {
			checks++;
			return nowMs;
		},
	});
	const twoChecksLater = () => {
		const from = checks;
		return vi.waitFor(() => expect(checks).toBeGreaterThan(from + 2));
	};
	nowMs = 49;
	await twoChecksLater();
	expect(renewedAtMs).toEqual([]);
	nowMs = 50;
	await twoChecksLater();
	expect(renewedAtMs).toEqual([50, 50]);
	// The machine slept.
	nowMs = 10_000;
	await twoChecksLater();
	expect(renewedAtMs).toEqual([50, 50, 10_000]);
	stop.abort();
	await ended;
});

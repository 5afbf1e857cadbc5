import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, expect, test, vi } from "vitest";
import { ConcurrencyLimit, type WaitingRequest } from "./concurrency-limit.ts";

let limit: ConcurrencyLimit;
let begun: string[];

beforeEach(() => {
	limit = new ConcurrencyLimit(32);
	begun = [];
});

function enter(
	source: string,
	count: number,
	waitingSinceMs = 0,
): WaitingRequest[] {
	return Array.from({ length: count }, () => {
		const waiter: WaitingRequest = {
			waitingSinceMs,
			begin: () => begun.push(source),
			giveUp: () => limit.withdraw(source, waiter),
		};
		limit.enter(source, waiter);
		return waiter;
	});
}

const begunOf = (source: string) =>
	begun.filter((each) => each === source).length;

test("a source that sends alone has no limit", () => {
	limit.tick(1_000);
	enter("a", 500);
	limit.tick(2_000);
	enter("a", 500);
	expect(begun).toHaveLength(1_000);
});

test("beside another source a flood has a limit, and each finished request lets the next one in", () => {
	enter("b", 1);
	enter("flood", 500);
	expect(begunOf("flood")).toBe(32);
	enter("b", 1);
	expect(begunOf("b")).toBe(2);
	limit.leave("flood");
	expect(begunOf("flood")).toBe(33);
});

test("a request that goes away while it waits takes no turn", () => {
	enter("b", 1);
	const flood = enter("flood", 34);
	limit.withdraw("flood", flood[32]!);
	limit.leave("flood");
	limit.leave("flood");
	expect(begunOf("flood")).toBe(33);
});

test("when the other sources stop sending, all waiting requests are let in", () => {
	enter("b", 1);
	enter("flood", 500, 1_500);
	for (const nowMs of [1_000, 2_000]) limit.tick(nowMs);
	limit.leave("flood");
	expect(begunOf("flood")).toBe(500);
});

test("only a request that has waited too long gives up", () => {
	enter("b", 1);
	enter("flood", 32);
	const [early] = enter("flood", 1, 100);
	const [late] = enter("flood", 1, 500);
	const gaveUp: WaitingRequest[] = [];
	for (const waiter of [early!, late!]) {
		const { giveUp } = waiter;
		waiter.giveUp = () => {
			gaveUp.push(waiter);
			giveUp();
		};
	}
	limit.tick(850);
	expect(gaveUp).toEqual([]);
	limit.tick(1_000);
	expect(gaveUp).toEqual([early]);
	limit.tick(1_300);
	expect(gaveUp).toEqual([early, late]);
	expect(begunOf("flood")).toBe(32);
});

test("a minor collection frees a finished request, however old earlier waiters are", async () => {
	// As receive does.
	setFlagsFromString("--no-allocation-site-pretenuring");
	setFlagsFromString("--expose-gc");
	const collect: (options: { type: "minor" }) => void = runInNewContext("gc");
	enter("b", 1);
	enter("flood", 500);
	// After two collections everything so far is in the old generation.
	for (let n = 0; n < 2; n++) collect({ type: "minor" });
	const before = process.memoryUsage().arrayBuffers;
	const bodyBytes = 1_000;
	const requests = 20_000;
	for (let n = 1; n <= requests; n++) {
		const body = new ArrayBuffer(bodyBytes);
		const begin = () => void body;
		limit.enter("flood", { waitingSinceMs: 0, begin, giveUp: begin });
		limit.leave("flood");
		if (n % 1_000 === 0) collect({ type: "minor" });
	}
	await vi.waitFor(() => {
		collect({ type: "minor" });
		const kept = process.memoryUsage().arrayBuffers - before;
		expect(kept / bodyBytes).toBeLessThan(0.2 * requests);
	});
});

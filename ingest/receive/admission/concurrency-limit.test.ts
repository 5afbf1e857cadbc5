import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, expect, test, vi } from "vitest";
import { Turnstile, type Waiter } from "./concurrency-limit.ts";

let turnstile: Turnstile;
let begun: string[];

beforeEach(() => {
	turnstile = new Turnstile();
	begun = [];
});

function enter(source: string, count: number, waitsSinceMs = 0): Waiter[] {
	return Array.from({ length: count }, () => {
		const waiter: Waiter = {
			waitsSinceMs,
			begin: () => begun.push(source),
			giveUp: () => turnstile.withdraw(source, waiter),
		};
		turnstile.enter(source, waiter);
		return waiter;
	});
}

const begunOf = (source: string) =>
	begun.filter((each) => each === source).length;

test("a source that is alone is never held back", () => {
	turnstile.tick(1_000);
	enter("a", 500);
	turnstile.tick(2_000);
	enter("a", 500);
	expect(begun).toHaveLength(1_000);
});

test("beside another, a flood has so many at once, and each that is done lets the next in", () => {
	enter("b", 1);
	enter("flood", 500);
	expect(begunOf("flood")).toBe(32);
	enter("b", 1);
	expect(begunOf("b")).toBe(2);
	turnstile.leave("flood");
	expect(begunOf("flood")).toBe(33);
});

test("one that goes away while it waits takes no turn", () => {
	enter("b", 1);
	const flood = enter("flood", 34);
	turnstile.withdraw("flood", flood[32]!);
	turnstile.leave("flood");
	turnstile.leave("flood");
	expect(begunOf("flood")).toBe(33);
});

test("when the others have gone, all that wait are let in", () => {
	enter("b", 1);
	enter("flood", 500, 1_500);
	for (const nowMs of [1_000, 2_000]) turnstile.tick(nowMs);
	turnstile.leave("flood");
	expect(begunOf("flood")).toBe(500);
});

test("one that has waited too long gives up, and only that one", () => {
	enter("b", 1);
	enter("flood", 32);
	const [early] = enter("flood", 1, 100);
	const [late] = enter("flood", 1, 500);
	const gaveUp: Waiter[] = [];
	for (const waiter of [early!, late!]) {
		const { giveUp } = waiter;
		waiter.giveUp = () => {
			gaveUp.push(waiter);
			giveUp();
		};
	}
	turnstile.tick(850);
	expect(gaveUp).toEqual([]);
	turnstile.tick(1_000);
	expect(gaveUp).toEqual([early]);
	turnstile.tick(1_300);
	expect(gaveUp).toEqual([early, late]);
	expect(begunOf("flood")).toBe(32);
});

test("who has had a turn is left to a minor collection, however old those are who waited before", async () => {
	// As receive does.
	setFlagsFromString("--no-allocation-site-pretenuring");
	setFlagsFromString("--expose-gc");
	const collect: (options: { type: "minor" }) => void = runInNewContext("gc");
	enter("b", 1);
	enter("flood", 500);
	// What is there now is old after two of them.
	for (let n = 0; n < 2; n++) collect({ type: "minor" });
	const before = process.memoryUsage().arrayBuffers;
	const bodyBytes = 1_000;
	const requests = 20_000;
	for (let n = 1; n <= requests; n++) {
		const body = new ArrayBuffer(bodyBytes);
		const begin = () => void body;
		turnstile.enter("flood", { waitsSinceMs: 0, begin, giveUp: begin });
		turnstile.leave("flood");
		if (n % 1_000 === 0) collect({ type: "minor" });
	}
	await vi.waitFor(() => {
		collect({ type: "minor" });
		const kept = process.memoryUsage().arrayBuffers - before;
		expect(kept / bodyBytes).toBeLessThan(0.2 * requests);
	});
});

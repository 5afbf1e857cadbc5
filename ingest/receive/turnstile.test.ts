import { beforeEach, expect, test } from "vitest";
import { Turnstile, type Waiter } from "./turnstile.ts";

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
			giveUp: () => turnstile.leave(source, waiter),
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
	const flood = enter("flood", 500);
	expect(begunOf("flood")).toBe(32);
	enter("b", 1);
	expect(begunOf("b")).toBe(2);
	turnstile.leave("flood", flood[0]!);
	expect(begunOf("flood")).toBe(33);
});

test("one that goes away while it waits takes no turn", () => {
	enter("b", 1);
	const flood = enter("flood", 34);
	turnstile.leave("flood", flood[32]!);
	turnstile.leave("flood", flood[0]!);
	turnstile.leave("flood", flood[1]!);
	expect(begunOf("flood")).toBe(33);
});

test("when the others have gone, all that wait are let in", () => {
	enter("b", 1);
	const flood = enter("flood", 500, 1_500);
	for (const nowMs of [1_000, 2_000]) turnstile.tick(nowMs);
	turnstile.leave("flood", flood[0]!);
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

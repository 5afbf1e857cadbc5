import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RequestAdmission } from "./admission.ts";
import { MemoryBudget } from "./budget.ts";
import { RequestLimits } from "./limits.ts";

let budget: MemoryBudget;
let limits: RequestLimits;
let begun: number;
let gaveUp: number;

beforeEach(() => {
	vi.useFakeTimers({ toFake: ["performance"] });
	budget = new MemoryBudget(3_000, 1_500);
	limits = new RequestLimits(budget);
	begun = 0;
	gaveUp = 0;
});

afterEach(() => {
	vi.useRealTimers();
});

function enter(sourceKey: string, account = "shop"): RequestAdmission {
	const end = () => {
		gaveUp++;
		admission.leave();
	};
	const admission: RequestAdmission = RequestAdmission.enter(
		{ account, sourceKey },
		limits,
		{
			begin: () => begun++,
			giveUp: end,
			tooSlow: end,
		},
	)!;
	admission.awaitTurn();
	return admission;
}

/** A flood that has taken all of its turns. */
function flood(): RequestAdmission[] {
	enter("other");
	return Array.from({ length: 32 }, () => enter("flood"));
}

test("waiting counts the time before the turn, not the time that the sender takes for the body", () => {
	const [first] = flood();
	const late = enter("flood");
	const enteredAtMs = performance.now();
	vi.advanceTimersByTime(300);
	first!.leave();
	vi.advanceTimersByTime(5_000);
	late.endReading();
	expect(performance.now() - late.waitingSinceMs).toBe(300);
	expect(late.waitingSinceMs).toBe(enteredAtMs + 5_000);
});

test("a request that leaves hands its turn to the next one, whether or not it had its own", () => {
	const [first] = flood();
	const waiting = [enter("flood"), enter("flood")];
	expect(begun).toBe(33);
	waiting[0]!.leave();
	expect(begun).toBe(33);
	first!.leave();
	expect(begun).toBe(34);
	expect(budget.requests).toBe(33);
});

test("beside another account a flood over many Sources has its account's limit, and each finished request lets the next one in", () => {
	enter("a", "bank");
	const first = enter("0", "mallory");
	for (let n = 1; n < 500; n++) enter(String(n % 50), "mallory");
	expect(begun).toBe(1 + 128);
	enter("a", "bank");
	expect(begun).toBe(130);
	first.leave();
	expect(begun).toBe(131);
});

test("a request that waits too long for its turn gives up", () => {
	flood();
	enter("flood");
	vi.advanceTimersByTime(799);
	limits.tick(performance.now());
	expect(gaveUp).toBe(0);
	vi.advanceTimersByTime(1);
	limits.tick(performance.now());
	expect(gaveUp).toBe(1);
	expect(budget.requests).toBe(33);
});

test("a request that waits too long for its account's turn gives up, and its Source's turn is free", () => {
	enter("a", "bank");
	for (let n = 0; n < 129; n++) enter(String(n % 10), "mallory");
	expect(begun).toBe(129);
	vi.advanceTimersByTime(800);
	limits.tick(performance.now());
	expect(gaveUp).toBe(1);
	expect(budget.requests).toBe(129);
});

test("bytes are held until they are given up, beyond the answer", () => {
	const admission = enter("a");
	expect(admission.take(400)).toBe(true);
	expect(admission.take(101)).toBe(false);
	expect(admission.bytes).toBe(400);
	admission.keep(350);
	admission.leave();
	expect(budget).toMatchObject({ requests: 0, bytes: 350 });
	admission.keep(0);
	expect(budget.bytes).toBe(0);
});

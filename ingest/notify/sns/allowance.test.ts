import { expect, test } from "vitest";
import { Allowance } from "./allowance.ts";

test("an account may ask 20 times at once, then every 10 seconds, and another one as often", () => {
	const allowance = new Allowance();
	const asked = (account: string, nowMs: number, times: number) =>
		Array.from({ length: times }, () => allowance.take(account, nowMs)).filter(
			Boolean,
		).length;
	expect(asked("mallory", 0, 100)).toBe(20);
	expect(asked("mallory", 9_000, 100)).toBe(0);
	expect(asked("mallory", 20_001, 100)).toBe(2);
	expect(asked("shop", 20_001, 100)).toBe(20);
	expect(asked("mallory", 3_600_000, 100)).toBe(20);
});

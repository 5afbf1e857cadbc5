import { expect, test } from "vitest";
import { IdentityCache } from "./identity-cache.ts";

function cacheOf(options: { maxEntries?: number } = {}) {
	const asked: string[] = [];
	const clock = { now: 0 };
	const cache = new IdentityCache(
		async (token) => {
			asked.push(token);
			if (token === "wrong") throw new Error("401");
			return { username: `user of ${token}`, groups: [] };
		},
		{ now: () => clock.now, ttlMs: 60_000, ...options },
	);
	return { cache, asked, clock };
}

test("a token is asked about once a minute", async () => {
	const { cache, asked, clock } = cacheOf();
	await cache.identityOf("a");
	clock.now = 59_999;
	expect((await cache.identityOf("a")).username).toBe("user of a");
	expect(asked).toEqual(["a"]);
	clock.now = 60_000;
	await cache.identityOf("a");
	expect(asked).toEqual(["a", "a"]);
});

test("one token never gets another's identity", async () => {
	const { cache } = cacheOf();
	await cache.identityOf("a");
	expect((await cache.identityOf("b")).username).toBe("user of b");
});

test("a refusal is not remembered", async () => {
	const { cache, asked } = cacheOf();
	await expect(cache.identityOf("wrong")).rejects.toThrow("401");
	await expect(cache.identityOf("wrong")).rejects.toThrow("401");
	expect(asked).toEqual(["wrong", "wrong"]);
});

test("the oldest is forgotten when there are too many", async () => {
	const { cache, asked } = cacheOf({ maxEntries: 2 });
	for (const token of ["a", "b", "c", "b", "c", "a"])
		await cache.identityOf(token);
	expect(asked).toEqual(["a", "b", "c", "a"]);
});

import { expect, test } from "vitest";
import { bearerToken, IdentityCache } from "./authenticator.ts";

function cacheOf(options: { maxEntries?: number } = {}) {
	const reviewed: string[] = [];
	const clock = { now: 0 };
	const cache = new IdentityCache(
		async (token) => {
			reviewed.push(token);
			if (token === "wrong") throw new Error("401");
			return { username: `user of ${token}`, groups: [] };
		},
		{ now: () => clock.now, ttlMs: 60_000, ...options },
	);
	return { cache, reviewed, clock };
}

test("a token is reviewed once a minute", async () => {
	const { cache, reviewed, clock } = cacheOf();
	await cache.identityOf("a");
	clock.now = 59_999;
	expect((await cache.identityOf("a")).username).toBe("user of a");
	expect(reviewed).toEqual(["a"]);
	clock.now = 60_000;
	await cache.identityOf("a");
	expect(reviewed).toEqual(["a", "a"]);
});

test("one token never gets another's identity", async () => {
	const { cache } = cacheOf();
	await cache.identityOf("a");
	expect((await cache.identityOf("b")).username).toBe("user of b");
});

test("a refusal is not cached", async () => {
	const { cache, reviewed } = cacheOf();
	await expect(cache.identityOf("wrong")).rejects.toThrow("401");
	await expect(cache.identityOf("wrong")).rejects.toThrow("401");
	expect(reviewed).toEqual(["wrong", "wrong"]);
});

test("the oldest entry makes room for a new one", async () => {
	const { cache, reviewed } = cacheOf({ maxEntries: 2 });
	for (const token of ["a", "b", "c", "b", "c", "a"])
		await cache.identityOf(token);
	expect(reviewed).toEqual(["a", "b", "c", "a"]);
});

test.each([
	["Bearer a.b-c_d~e+f/g==", "a.b-c_d~e+f/g=="],
	["bearer  abc ", "abc"],
])("the header %j has the token %s", (header, token) => {
	expect(bearerToken(header)).toBe(token);
});

test.each([
	undefined,
	"",
	"Bearer",
	"Bearer ",
	"Basic abc",
	"Bearer a b",
	"Bearer =a",
	"Bearer a\nb",
])("the header %j has no token and is a 401", (header) => {
	expect(() => bearerToken(header)).toThrow(
		expect.objectContaining({ code: "Unauthorized" }),
	);
});

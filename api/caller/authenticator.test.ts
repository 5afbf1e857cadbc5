import { expect, test } from "vitest";
import { KubeApiError } from "../../packages/kube/client/client.ts";
import { bearerToken, IdentityCache } from "./authenticator.ts";

function cacheOf(options: { maxEntries?: number } = {}) {
	const reviewed: string[] = [];
	const queued: string[] = [];
	const clock = { now: 0 };
	const refused = new Map<string, string>([["wrong", "Unauthorized"]]);
	const cache = new IdentityCache(
		async (token) => {
			reviewed.push(token);
			const reason = refused.get(token);
			if (reason)
				throw new KubeApiError(reason === "Unauthorized" ? 401 : 503, {
					reason,
				});
			return { username: `user of ${token}`, groups: [] };
		},
		{ now: () => clock.now, ...options },
	);
	const identityOf = (token: string) =>
		cache.identityOf(token, (review) => {
			queued.push(token);
			return review();
		});
	return { identityOf, reviewed, queued, refused, clock };
}

test("a token is reviewed once a minute", async () => {
	const { identityOf, reviewed, clock } = cacheOf();
	await identityOf("a");
	clock.now = 59_999;
	expect((await identityOf("a")).username).toBe("user of a");
	expect(reviewed).toEqual(["a"]);
	clock.now = 60_000;
	await identityOf("a");
	expect(reviewed).toEqual(["a", "a"]);
});

test("a token that has been valid never queues again, and its requests share one review", async () => {
	const { identityOf, reviewed, queued, clock } = cacheOf();
	await identityOf("a");
	clock.now = 60_000;
	await Promise.all([identityOf("a"), identityOf("a"), identityOf("a")]);
	expect(reviewed).toEqual(["a", "a"]);
	expect(queued).toEqual(["a"]);
});

test("a token that has been revoked queues again, one that couldn't be reviewed does not", async () => {
	const { identityOf, queued, refused, clock } = cacheOf();
	await identityOf("a");
	clock.now = 60_000;
	refused.set("a", "ServiceUnavailable");
	await expect(identityOf("a")).rejects.toMatchObject({ status: 503 });
	refused.set("a", "Unauthorized");
	await expect(identityOf("a")).rejects.toMatchObject({ status: 401 });
	expect(queued).toEqual(["a"]);
	await expect(identityOf("a")).rejects.toMatchObject({ status: 401 });
	expect(queued).toEqual(["a", "a"]);
});

test("requests that queue with the same token share one review", async () => {
	const reviewed: string[] = [];
	const cache = new IdentityCache(async (token) => {
		reviewed.push(token);
		return { username: "ada", groups: [] };
	});
	const turns: (() => unknown)[] = [];
	const asking = [1, 2].map(() =>
		cache.identityOf("a", async (review) => {
			await new Promise<void>((resolve) => turns.push(resolve));
			return review();
		}),
	);
	turns[0]!();
	await asking[0];
	turns[1]!();
	expect(await asking[1]).toEqual({ username: "ada", groups: [] });
	expect(reviewed).toEqual(["a"]);
});

test("one token never gets another's identity", async () => {
	const { identityOf } = cacheOf();
	await identityOf("a");
	expect((await identityOf("b")).username).toBe("user of b");
});

test("a refusal is not cached", async () => {
	const { identityOf, reviewed } = cacheOf();
	await expect(identityOf("wrong")).rejects.toMatchObject({ status: 401 });
	await expect(identityOf("wrong")).rejects.toMatchObject({ status: 401 });
	expect(reviewed).toEqual(["wrong", "wrong"]);
});

test("the oldest entry makes room for a new one", async () => {
	const { identityOf, reviewed } = cacheOf({ maxEntries: 2 });
	for (const token of ["a", "b", "c", "b", "c", "a"]) await identityOf(token);
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

import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ApiError, type KubeClient } from "../kube/client/client.ts";
import { createLog } from "../service/log.ts";
import { createApi } from "./server.ts";

const windowMs = 60 * 60_000;
let api: ReturnType<typeof createApi>;
let reviews: { running: number; most: number; total: number };

/** An apiserver that knows the tokens that begin with "valid". */
function clientOf(token: string): KubeClient {
	return {
		raw: async () => {
			reviews.total++;
			reviews.most = Math.max(reviews.most, ++reviews.running);
			await nextTurn();
			reviews.running--;
			if (!token.startsWith("valid"))
				throw new ApiError(401, { reason: "Unauthorized" });
			const username = `system:serviceaccount:shop:${token}`;
			const groups = ["system:serviceaccounts"];
			return { status: { userInfo: { username, groups } } };
		},
		rawText: async () => "ok",
		list: async () => ({ items: [], metadata: {} }),
	} as unknown as KubeClient;
}

beforeEach(() => {
	reviews = { running: 0, most: 0, total: 0 };
	const log = createLog("test");
	log.level = "silent";
	api = createApi({
		clientFor: clientOf,
		rateLimit: { limit: 120, windowMs, now: () => 0 },
		log,
		stopping: new AbortController().signal,
	});
});

afterEach(() => api.close());

function get(token?: string) {
	const headers = token ? { authorization: `Bearer ${token}` } : {};
	return api.inject({ path: "/v1/sources", headers });
}

test("1,000 wrong tokens from an address deny nobody there a valid token, and the apiserver reviews 16 at once", async () => {
	expect((await get("valid-known")).statusCode).toBe(200);
	const wrong = Array.from({ length: 1_000 }, (_, index) => `wrong-${index}`);
	const guesses = wrong.map((token) => get(token));
	const valid = [get("valid-known"), get("valid-new")];
	for (const answer of valid) expect((await answer).statusCode).toBe(200);
	const statuses = (await Promise.all(guesses)).map((one) => one.statusCode);
	expect(new Set(statuses)).toEqual(new Set([401, 429]));
	expect(reviews).toMatchObject({ most: 16, total: 1_002 });
	expect((await get("valid-late")).statusCode).toBe(200);
	expect((await get("wrong")).statusCode).toBe(429);
	expect((await get()).statusCode).toBe(429);
});

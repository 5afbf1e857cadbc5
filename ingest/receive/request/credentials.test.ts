import { hash } from "node:crypto";
import { expect, test } from "vitest";
import type { Route } from "../../../packages/contracts/route.ts";
import { SealKey } from "../../../packages/service/seal-key.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { hasUrlKey, isAuthorized } from "./credentials.ts";

const key = "0123456789abcdef".repeat(2);

function route(authorization: Route["authorization"]): Route {
	return routeWith(key, key, { authorization });
}

test("a URL key is checked by its digest", () => {
	const none = route({ type: "None" });
	expect(hasUrlKey(none, key)).toBe(true);
	expect(hasUrlKey(none, key.replace("0", "1"))).toBe(false);
});

const sealKey = new SealKey(Buffer.alloc(32, 1));
const tokenDigest = (token: string | Uint8Array) => sealKey.digest(token, key);
const tokens = {
	...route({
		type: "CustomToken",
		digests: [tokenDigest("old"), tokenDigest("grün +")],
	}),
	tokenDigest,
};
const latin1 = (text: string) => Buffer.from(text).toString("latin1");

test("a token is accepted in each of its three places", () => {
	expect(isAuthorized(tokens, {}, "old")).toBe(true);
	expect(isAuthorized(tokens, {}, "grün +")).toBe(true);
	expect(
		isAuthorized(tokens, { "x-webhook-token": latin1("grün +") }, "other"),
	).toBe(true);
	expect(isAuthorized(tokens, { authorization: "bEARER  old" }, "other")).toBe(
		true,
	);
});

test("a missing, wrong or misplaced token is not accepted", () => {
	expect(isAuthorized(tokens, {}, undefined)).toBe(false);
	expect(isAuthorized(tokens, { authorization: "Bearer old2" }, "")).toBe(
		false,
	);
	expect(isAuthorized(tokens, { authorization: "Basic old" }, "")).toBe(false);
	expect(isAuthorized(tokens, { authorization: "old" }, "ol")).toBe(false);
	for (const digest of [hash("sha256", "old"), tokenDigest("old")])
		expect(isAuthorized(tokens, { "x-webhook-token": digest }, digest)).toBe(
			false,
		);
	expect(isAuthorized({ ...tokens, tokenDigest: undefined }, {}, "old")).toBe(
		false,
	);
});

test("a source whose authorization can't be served accepts nothing", () => {
	expect(isAuthorized(route({ type: "Unavailable" }), {}, "old")).toBe(false);
	expect(isAuthorized(route({ type: "None" }), {}, undefined)).toBe(true);
});

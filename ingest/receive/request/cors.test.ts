import { expect, test } from "vitest";
import { answerPreflight, corsHeaders } from "./cors.ts";

const shop = "https://shop.example";
const one = { allowedOrigins: [shop, "http://localhost:8080"] };
const all = { allowedOrigins: ["*"] };

test("a page of an allowed origin may read the answer, and no other page", () => {
	expect(Object.fromEntries(corsHeaders(one, { origin: shop }))).toEqual({
		vary: "origin",
		"access-control-allow-origin": shop,
		"access-control-expose-headers": "retry-after, tidemill-event-id",
	});
	for (const origin of [
		undefined,
		"null",
		"*",
		"https://shop.example.evil",
		"https://SHOP.example",
		`${shop}:444`,
		`${shop}, http://localhost:8080`,
	])
		expect(corsHeaders(one, origin === undefined ? {} : { origin })).toEqual([
			["vary", "origin"],
		]);
});

test("if all pages may, the answer is the same for each, with an origin or without", () => {
	for (const origin of [shop, "null"])
		expect(corsHeaders(all, { origin })).toEqual([
			["access-control-allow-origin", "*"],
			["access-control-expose-headers", "retry-after, tidemill-event-id"],
		]);
	expect(corsHeaders(all, {})).toEqual([]);
});

const preflight = { origin: shop, "access-control-request-method": "POST" };

test("a browser that asks may send what it asks for, for two hours", () => {
	const names = "authorization, content-type,x-shop";
	const answer = answerPreflight(one, {
		...preflight,
		"access-control-request-headers": names,
	});
	expect(answer?.headers).toEqual([
		"access-control-allow-methods",
		"POST",
		"access-control-max-age",
		"7200",
		"access-control-allow-headers",
		names,
	]);
	expect(answerPreflight(all, preflight)?.headers).not.toContain(
		"access-control-allow-headers",
	);
});

test.each<[string, Record<string, string>]>([
	["another origin", { origin: "https://evil.example" }],
	["another method", { "access-control-request-method": "PUT" }],
	["no method", { "access-control-request-method": "" }],
])("a browser that asks for %s gets no leave", (_, change) => {
	expect(answerPreflight(one, { ...preflight, ...change })).toBeUndefined();
});

test.each(["a b", "a:b", "a;b", "", "a,,b"])(
	"what isn't a list of header names isn't repeated: %j",
	(names) => {
		const answer = answerPreflight(one, {
			...preflight,
			"access-control-request-headers": names,
		});
		expect(answer?.headers).not.toContain("access-control-allow-headers");
	},
);

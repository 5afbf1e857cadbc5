import { expect, test } from "vitest";
import type { Route } from "../../../packages/contracts/route.ts";
import { doNow } from "../admission/long-work.ts";
import type { PresentedSignature } from "../request/presented-signature.ts";
import { readSignature } from "../request/signature-schemes.ts";
import { senderKey, signedTextKey } from "./sender-key.ts";

type Place = NonNullable<Route["idempotency"]>["key"];

function keyOf(
	key: Place,
	headers: Record<string, string>,
	body: string,
	sourceKey = "a",
	query?: string,
): string | undefined {
	const idempotency = { key, windowSeconds: 300 };
	return keyIn({ sourceKey, idempotency }, headers, body, query);
}

function keyIn(
	route: Pick<Route, "sourceKey" | "idempotency">,
	headers: Record<string, string>,
	body: string,
	query?: string,
): string | undefined {
	const parts = [Buffer.from(body.slice(0, 3)), Buffer.from(body.slice(3))];
	const found = doNow(senderKey(route, { headers, query }, parts, () => true));
	return "status" in found ? found.code : found.key;
}

const header: Place = { header: "webhook-id" };

test("a key is a digest of the Source and the sender's value", () => {
	const one = keyOf(header, { "webhook-id": "msg_1" }, "{}");
	expect(one).toMatch(/^[0-9a-f]{32}$/);
	expect(keyOf(header, { "webhook-id": "msg_1" }, "[]")).toBe(one);
	expect(keyOf(header, { "webhook-id": "msg_2" }, "{}")).not.toBe(one);
	expect(keyOf(header, { "webhook-id": "msg_1" }, "{}", "b")).not.toBe(one);
	// Header and body give the same key.
	expect(keyOf({ bodyPointer: "/id" }, {}, '{"id":"msg_1"}')).toBe(one);
});

test("a key can be a parameter of the query, and an empty one is none", () => {
	const place: Place = { parameter: "delivery" };
	const key = (query?: string) => keyOf(place, {}, "{}", "a", query);
	expect(key("a=1&delivery=msg%5F1")).toBe(
		keyOf(header, { "webhook-id": "msg_1" }, "{}"),
	);
	for (const query of [undefined, "", "delivery", "delivery=", "a=delivery"])
		expect(key(query)).toBeUndefined();
});

test.each<[string, string]>([
	['{"id":"evt_1"}', "/id"],
	['{"a":{"b":["x","evt_1"]}}', "/a/b/1"],
	['{"a/b":{"c~d":"evt_1"}}', "/a~1b/c~0d"],
	['{"":{"~1":"evt_1"}}', "//~01"],
	['{"id":"first","id":"evt_1"}', "/id"],
	['["evt_1"]', "/0"],
	['{"a":{"id":1},"a":{"id":"evt_1"}}', "/a/id"],
	[' { "x" : [ {"id":"x"} , 1 ] , "i\\u0064" : "evt\\u005f1" } ', "/id"],
	['[[0,"x"],[true,{"id":"evt_1"},2],3]', "/1/1/id"],
])("in %s, %s is found", (body, bodyPointer) => {
	expect(keyOf({ bodyPointer }, {}, body)).toBe(
		keyOf(header, { "webhook-id": "evt_1" }, ""),
	);
});

test("an integer is the same key as its text, of any size", () => {
	for (const [id, text = id] of [
		["9007199254740991"],
		["9007199254740993"],
		["-123456789012345678901234567890"],
		["1.0", "1"],
		["-0", "0"],
	])
		expect(keyOf({ bodyPointer: "/id" }, {}, `{"id":${id}}`)).toBe(
			keyOf(header, { "webhook-id": text! }, ""),
		);
	// Two such numbers could become one.
	for (const id of ["9007199254740993.0", "1e400", "1.5"])
		expect(keyOf({ bodyPointer: "/id" }, {}, `{"id":${id}}`)).toBeUndefined();
});

test.each([
	["{}", "/id"],
	['{"id":null}', "/id"],
	['{"id":""}', "/id"],
	['{"id":true}', "/id"],
	['{"id":{"a":1}}', "/id"],
	['{"id":["a"]}', "/id/length"],
	['{"id":["a"]}', "/id/01"],
	['{"id":["a"]}', "/id/-"],
	['"text"', "/0"],
	["null", "/id"],
	["{}", "/toString"],
	['{"a":{"id":"x"},"a":1}', "/a/id"],
	['{"a":{"id":"x"},"a":null,"b":{"id":"y"}}', "/a/id"],
	['{"id":"x","id":[]}', "/id"],
	['{"b":{"id":"x"},"c":["id"]}', "/id"],
	["{}", "/__proto__/x"],
])("%s has no key at %s", (body, bodyPointer) => {
	expect(keyOf({ bodyPointer }, {}, body)).toBeUndefined();
});

test("a missing or empty header is no key", () => {
	expect(keyOf(header, {}, "{}")).toBeUndefined();
	expect(keyOf(header, { "webhook-id": "" }, "{}")).toBeUndefined();
});

test("a Source that asks for no keys has none", () => {
	const headers = { "webhook-id": "msg_1" };
	expect(keyIn({ sourceKey: "a" }, headers, "")).toBeUndefined();
});

const bySignature = { key: { signature: true as const }, windowSeconds: 300 };

function signedKey(
	scheme: "GitHub" | "Stripe",
	headers: Record<string, string>,
	{ body = "{}", sourceKey = "a", idempotency = bySignature } = {},
): string | undefined {
	const signature = readSignature(
		{ type: "Signature", scheme, keys: [], toleranceSeconds: 300 },
		headers,
		{ sourceKey, urlKey: "b", query: undefined },
	) as PresentedSignature;
	const route = { sourceKey, idempotency };
	return doNow(signedTextKey(route, signature, [Buffer.from(body)]));
}

const gitHub = (signature: string, others = {}) => ({
	"x-hub-signature-256": signature,
	...others,
});

test("a recorded request has the same key, however its signature is written and whatever its other headers say", () => {
	const recorded = signedKey("GitHub", gitHub("sha256=ab"));
	expect(recorded).toMatch(/^[0-9a-f]{32}$/);
	for (const headers of [
		gitHub("sha256=AB"),
		gitHub("sha256=ab,sha256=cd"),
		gitHub("sha256=cd", { "x-github-delivery": "another" }),
	])
		expect(signedKey("GitHub", headers)).toBe(recorded);
});

test("another body, another signed time and another Source have keys of their own", () => {
	const stripe = (time: number) => ({ "stripe-signature": `t=${time},v1=ab` });
	const keys = [
		signedKey("GitHub", gitHub("sha256=ab")),
		signedKey("GitHub", gitHub("sha256=ab"), { body: "[]" }),
		signedKey("GitHub", gitHub("sha256=ab"), { sourceKey: "b" }),
		signedKey("Stripe", stripe(1)),
		signedKey("Stripe", stripe(2)),
	];
	expect(new Set(keys).size).toBe(5);
	expect(keys).not.toContain(undefined);
});

test("only a signed request of a Source that asks for it has the signature's key", () => {
	const sent = Buffer.from("{}");
	expect(keyOf({ signature: true }, { "webhook-id": "x" }, "{}")).toBe(
		undefined,
	);
	const byHeader = { key: header, windowSeconds: 300 };
	for (const asked of [{}, { idempotency: byHeader }])
		expect(
			doNow(
				signedTextKey({ sourceKey: "a", ...asked }, { signed: [sent, sent] }, [
					sent,
				]),
			),
		).toBeUndefined();
});

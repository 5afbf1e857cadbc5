import { expect, test } from "vitest";
import type { Route } from "../../../contracts/route.ts";
import { readSignature } from "../authorization/presented-signature.ts";
import { senderKey, signedTextKey } from "./sender-key.ts";

type Place = NonNullable<Route["idempotency"]>["key"];

function keyOf(
	key: Place,
	headers: Record<string, string>,
	body: string,
	sourceKey = "a",
): string | undefined {
	const idempotency = { key, windowSeconds: 300 };
	return senderKey({ sourceKey, idempotency }, headers, Buffer.from(body));
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

test.each<[string, string]>([
	['{"id":"evt_1"}', "/id"],
	['{"a":{"b":["x","evt_1"]}}', "/a/b/1"],
	['{"a/b":{"c~d":"evt_1"}}', "/a~1b/c~0d"],
	['{"":{"~1":"evt_1"}}', "//~01"],
	['{"id":"first","id":"evt_1"}', "/id"],
	['["evt_1"]', "/0"],
])("in %s, %s is found", (body, bodyPointer) => {
	expect(keyOf({ bodyPointer }, {}, body)).toBe(
		keyOf(header, { "webhook-id": "evt_1" }, ""),
	);
});

test("an integer is the same key as its text, if JavaScript holds it exactly", () => {
	expect(keyOf({ bodyPointer: "/id" }, {}, '{"id":9007199254740991}')).toBe(
		keyOf(header, { "webhook-id": "9007199254740991" }, ""),
	);
	// Two such numbers could become one.
	for (const id of ["9007199254740993", "1e400", "1.5"])
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
	expect(senderKey({ sourceKey: "a" }, headers, Buffer.from(""))).toBe(
		undefined,
	);
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
	);
	const route = { sourceKey, idempotency };
	return signedTextKey(route, signature, Buffer.from(body));
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
	const idempotency = bySignature;
	const sent = Buffer.from("{}");
	expect(
		signedTextKey({ sourceKey: "a", idempotency }, undefined, sent),
	).toBeUndefined();
	expect(keyOf({ signature: true }, { "webhook-id": "x" }, "{}")).toBe(
		undefined,
	);
	const byHeader = { key: header, windowSeconds: 300 };
	for (const asked of [{}, { idempotency: byHeader }])
		expect(
			signedTextKey(
				{ sourceKey: "a", ...asked },
				{ signed: [sent, sent] },
				sent,
			),
		).toBeUndefined();
});

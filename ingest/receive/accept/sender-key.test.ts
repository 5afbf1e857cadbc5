import { expect, test } from "vitest";
import type { Route } from "../../../contracts/route.ts";
import { senderKey } from "./sender-key.ts";

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

import { expect, test } from "vitest";
import { contentMatchOf } from "./content-match.ts";

test.each([
	["/order/id=1001", { bodyPointer: "/order/id", value: "1001" }],
	["/a~1b/~0=x=y", { bodyPointer: "/a~1b/~0", value: "x=y" }],
	["=whole", { bodyPointer: "", value: "whole" }],
	["/empty=", { bodyPointer: "/empty", value: "" }],
	["X-Shop-Id=a", { field: "x-shop-id", value: "a" }],
	["?Shop=a", { field: "?Shop", value: "a" }],
])("%s is a place and a value", (text, match) => {
	expect(contentMatchOf(text)).toEqual(match);
});

test.each([
	"1001",
	"",
	"order/id=1001",
	"/a~b=1",
	"?=1",
	`/${"a".repeat(500)}=1`,
	`${"x".repeat(201)}=1`,
	`/a=${"1".repeat(1_001)}`,
])("%s is refused, and the message has an example", (text) => {
	expect(() => contentMatchOf(text)).toThrow(
		expect.objectContaining({
			details: [
				expect.objectContaining({
					path: "match",
					message: expect.stringContaining("/order/id=1001"),
				}),
			],
		}),
	);
});

import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["shop", "orders", "orders-eu", "lake"];

test.each([
	["shpo", "shop"],
	["shops", "shop"],
	["hop", "shop"],
	["Orders", "orders"],
	["odrers", "orders"],
	["orders-ue", "orders-eu"],
	["ord", "orders"],
	["cake", "lake"],
	["stripe", undefined],
	["", undefined],
	["o", undefined],
])("%j was meant to be %j", (given, meant) => {
	expect(nearest(given, names)).toBe(meant);
});

test.each([
	["x".repeat(20_000_000), undefined],
	[`shop${"x".repeat(20_000_000)}`, undefined],
])(
	"a name of any length is compared with short ones at no cost (%#)",
	(given, meant) => {
		expect(nearest(given, names)).toBe(meant);
	},
);

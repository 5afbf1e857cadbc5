import fc from "fast-check";
import { expect, test } from "vitest";
import { resourceName, resourceNamePattern } from "./resource-body.ts";

test.each([
	["The Shop's orders", "the-shop-s-orders"],
	["Café Zürich № 5", "cafe-zurich-no-5"],
	["注文", "source"],
	["", "source"],
	[undefined, "source"],
	[42, "source"],
])("%j becomes %s", (displayName, name) => {
	expect(resourceName(displayName, "source")).toBe(name);
});

/** Any, surrogates too. fast-check's own "binary" spends two seconds on its table of them. */
const codePoint = fc
	.nat({ max: 0x10ffff })
	.map((value) => String.fromCodePoint(value));

test("any display name gives a name that Kubernetes accepts", () => {
	fc.assert(
		fc.property(
			fc.string({ unit: codePoint, maxLength: 60 }),
			fc.constantFrom(undefined, "abc123"),
			(displayName, suffix) => {
				expect(resourceName(displayName, "tracking-plan", suffix)).toMatch(
					new RegExp(resourceNamePattern),
				);
			},
		),
		{ numRuns: 50 },
	);
});

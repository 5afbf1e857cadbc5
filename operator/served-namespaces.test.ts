import { expect, test } from "vitest";
import {
	claimsOf,
	type InstallationClaims,
	overlapsOf,
} from "../crds/installation-claims.ts";
import { annotation } from "../crds/labels.ts";
import { claimsToHave, servedNamespaces } from "./served-namespaces.ts";

const second = (n: number) => `2026-03-01T12:00:0${n}.000Z`;
const nats = "nats://nats.example.com:4222";

function of(installation: string, since: Record<string, string> = {}) {
	return { installation, since } satisfies InstallationClaims;
}

/** What `one/operator` serves, given its claims and another's. */
function served(own: Record<string, string>, other: Record<string, string>) {
	const overlaps = overlapsOf(of("one/operator", own), [
		of("two/operator", other),
	]);
	return servedNamespaces(Object.keys(own), overlaps);
}

test.each<
	[
		string,
		Record<string, string>,
		Record<string, string>,
		string[] | "all",
		string[]?,
	]
>([
	["nothing in common", { shop: second(1) }, { billing: second(0) }, ["shop"]],
	[
		"the same namespace, claimed first",
		{ shop: second(1), billing: second(1) },
		{ shop: second(2) },
		["shop", "billing"],
	],
	[
		"the same namespace, claimed later",
		{ shop: second(3), billing: second(1) },
		{ shop: second(2) },
		["billing"],
	],
	[
		"the same namespace at the same time: the name decides",
		{ shop: second(1) },
		{ shop: second(1) },
		["shop"],
	],
	[
		"all namespaces, where another has one already",
		{ "*": second(2) },
		{ shop: second(1) },
		"all",
		["shop"],
	],
	[
		"all namespaces, and another claims one later",
		{ "*": second(1) },
		{ shop: second(2) },
		"all",
	],
	[
		"one namespace, where another has all",
		{ shop: second(2) },
		{ "*": second(1) },
		[],
	],
	["all namespaces twice", { "*": second(2) }, { "*": second(1) }, []],
	[
		"the same NATS, claimed later",
		{ shop: second(1), [nats]: second(2) },
		{ billing: second(1), [nats]: second(1) },
		[],
	],
	[
		"the same NATS, claimed first",
		{ shop: second(1), [nats]: second(1) },
		{ billing: second(1), [nats]: second(2) },
		["shop"],
	],
	[
		"all namespaces, and another's NATS is no namespace",
		{ "*": second(2) },
		{ [nats]: second(1) },
		"all",
	],
])("serves what is its own: %s", (_, own, other, namespaces, except = []) => {
	expect(served(own, other)).toEqual({
		namespaces: namespaces === "all" ? undefined : namespaces,
		except,
	});
});

test("of two installations with one namespace, exactly one serves it, and both say so", () => {
	for (const [a, b] of [
		[1, 2],
		[2, 1],
		[1, 1],
	] as const) {
		const one = of("one/operator", { shop: second(a) });
		const two = of("two/operator", { "*": second(b) });
		const [ours] = overlapsOf(one, [one, two]);
		const [theirs] = overlapsOf(two, [two, one]);
		expect([ours!.claim, theirs!.claim]).toEqual(["shop", "shop"]);
		expect([ours!.other, theirs!.other]).toEqual([
			"two/operator",
			"one/operator",
		]);
		expect(ours!.isOurs).toBe(!theirs!.isOurs);
	}
});

test("a claim keeps its time, and one that is no longer wanted goes", () => {
	const before = of("one/operator", { shop: second(1), billing: second(1) });
	expect(
		claimsToHave(before, ["billing", "ads"], [], Date.parse(second(5))).since,
	).toEqual({ billing: second(1), ads: second(5) });
});

test.each([
	["shop", { shop: second(7) }],
	["shop", { "*": second(7) }],
	["*", { shop: second(7), ads: second(3) }],
	["*", { "*": second(7) }],
	[nats, { [nats]: second(7) }],
])(
	"a clock that is behind takes %s away from nobody who has %j",
	(claim, theirs) => {
		const other = of("two/operator", theirs);
		const own = claimsToHave(
			of("one/operator"),
			[claim],
			[other],
			Date.parse(second(5)),
		);
		const overlaps = overlapsOf(own, [other]);
		expect(overlaps.length).toBeGreaterThan(0);
		expect(overlaps.every(({ isOurs }) => !isOurs)).toBe(true);
	},
);

test("a Lease without claims, or with something else in their place, claims nothing", () => {
	const lease = (text?: string) => ({
		metadata: {
			name: "operator",
			namespace: "one",
			annotations: text === undefined ? {} : { [annotation.claims]: text },
		},
	});
	expect(claimsOf(lease())).toBeUndefined();
	for (const text of ["", "{", "null", "3"])
		expect(claimsOf(lease(text))).toBeUndefined();
	expect(
		claimsOf(lease('{"shop":3,"ads":"2026-03-01T12:00:00.000Z"}')),
	).toEqual(of("one/operator", { ads: "2026-03-01T12:00:00.000Z" }));
});

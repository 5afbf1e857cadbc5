import { expect, test } from "vitest";
import { routeWith } from "../test/support/examples/route-example.ts";
import { decideMove, type MoveFacts } from "./move-plan.ts";

const sourceKey = "a".repeat(32);
const keys = { sourceKey, urlKey: "b".repeat(32), shard: 0, shards: [0] };
const routeTo = (shard: number) =>
	routeWith("b", sourceKey, { account: "shop", source: "orders", shard });
const facts: MoveFacts = {
	namespace: "shop",
	source: "orders",
	shard: "1",
	shards: 3,
	keys,
	keyOwner: "shop",
	published: routeTo(0),
	known: [],
};

test.each<[string, Partial<MoveFacts>, number, number[]]>([
	["has never moved", {}, 1, [0, 1]],
	["has moved before", { known: [2, 0] }, 1, [2, 0, 1]],
	[
		"moves back",
		{ published: routeTo(1), known: [0, 1], shard: "0" },
		0,
		[0, 1],
	],
	["has moved already", { published: routeTo(1), known: [0, 1] }, 1, [0, 1]],
	["is where it should be", { shard: "0" }, 0, [0]],
	[
		"has a Secret of a move that crashed",
		{ keys: { ...keys, shard: 2, shards: [0, 2] } },
		1,
		[0, 1],
	],
	[
		"has a Secret with shards that nobody knows",
		{ keys: { ...keys, shards: [0, 9999] } },
		1,
		[0, 1],
	],
])(
	"a Source that %s has all shards of NATS, its route's and the new one",
	(_, change, shard, shards) => {
		expect(decideMove({ ...facts, ...change })).toMatchObject({
			shard,
			shards,
		});
	},
);

test.each<[string, Partial<MoveFacts>, string]>([
	[
		"a shard that doesn't exist",
		{ shard: "3" },
		'--shard is "3". It must be a number from 0 to 2: the chart value "shards" is 3.',
	],
	[
		"what is no number",
		{ shard: "-1" },
		'--shard is "-1". It must be a number',
	],
	["no number at all", { shard: "" }, '--shard is "". It must be a number'],
	[
		"a Source without a URL",
		{ keys: "absent" },
		'--source is "orders", and there is no Secret "orders-webhook-url" of namespace "shop". Name a Source',
	],
	["a damaged Secret", { keys: "invalid" }, "Restore the Secret"],
	[
		"another account's source key",
		{ keyOwner: "other", published: { ...routeTo(0), account: "other" } },
		"receivers have no route of it. It must be Active or Suspended",
	],
	[
		"another Source's source key",
		{ published: { ...routeTo(0), source: "copy" } },
		"receivers have no route of it",
	],
	["a Source without a route", { published: undefined }, "no route of it"],
])(
	"%s is refused, and the administrator reads what would be right",
	(_, change, message) => {
		expect(() => decideMove({ ...facts, ...change })).toThrow(message);
	},
);

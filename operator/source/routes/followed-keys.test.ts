import { expect, test } from "vitest";
import { sourceOf } from "../../../test/support/examples/resource-examples.ts";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { followedKeys } from "./keys.ts";

const keysWith = (shard: number, shards: number[]) => ({
	sourceKey: "a".repeat(32),
	urlKey: "b".repeat(32),
	shard,
	shards,
});

const source = (status = {}) => {
	const { metadata, spec } = sourceOf();
	return { ...sourceOf(), metadata, spec, status };
};

test.each<[string, number[], number[], number[], number, number[]]>([
	["has never moved", [0, 0], [0], [], 0, [0]],
	["was moved", [1, 0], [0, 1], [0, 1], 1, [0, 1]],
	["was moved back", [0, 1], [0, 1], [0, 1], 0, [0, 1]],
	["has a Secret that people have changed", [1, 0], [0, 1], [], 0, [0]],
	["has a Secret of before its move", [0, 1], [0], [0, 1], 0, [0, 1]],
])(
	"a Source that %s follows only shards that NATS names",
	(_, [wanted, current], inSecret, known, shard, shards) => {
		const published = routeWith("b", "a".repeat(32), { shard: current! });
		const keys = keysWith(wanted!, inSecret);
		const facts = { published, known, shards: 2 };
		const followed = followedKeys(source(), keys, facts);
		expect(followed.shard).toBe(shard);
		expect([...followed.shards].sort()).toEqual(shards);
	},
);

const unknown = { published: undefined, known: [], shards: 2 };

test("a Source that neither NATS nor its status knows has the shards of its Secret that there are", () => {
	const keys = keysWith(1, [0, 1]);
	expect(followedKeys(source(), keys, unknown)).toEqual(keys);
	const wild = keysWith(1, [0, 1, ...Array.from({ length: 900 }, (_, n) => n)]);
	expect(followedKeys(source(), wild, unknown)).toEqual(keys);
});

test("without a route, people who change the Secret move nothing: the status knows the shards", () => {
	const status = { sourceKey: "a".repeat(32), shard: 0 };
	const keys = keysWith(1, [1]);
	const stayed = followedKeys(source(status), keys, unknown);
	expect(stayed).toMatchObject({ shard: 0, shards: [0] });
});

test("a new leader that hasn't read the shards in NATS takes none away from the status", () => {
	const sourceKey = "a".repeat(32);
	const published = routeWith("b", sourceKey, { shard: 1 });
	const status = { sourceKey, shard: 1, shards: [0, 1] };
	const facts = { ...unknown, published };
	const followed = followedKeys(source(status), keysWith(1, [0, 1]), facts);
	expect(followed).toMatchObject({ shard: 1, shards: [0, 1] });
});

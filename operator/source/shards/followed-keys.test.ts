import { expect, test } from "vitest";
import { routeWith } from "../../../test/support/examples/route-example.ts";
import { followedKeys } from "./followed-keys.ts";

const keysWith = (shard: number, shards: number[]) => ({
	sourceKey: "a".repeat(32),
	urlKey: "b".repeat(32),
	shard,
	shards,
});

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
		const followed = followedKeys(keys, published, known);
		expect(followed.shard).toBe(shard);
		expect([...followed.shards].sort()).toEqual(shards);
	},
);

test("a Source that NATS doesn't know has the shards of its Secret", () => {
	const keys = keysWith(1, [0, 1]);
	expect(followedKeys(keys, undefined, [])).toEqual(keys);
});

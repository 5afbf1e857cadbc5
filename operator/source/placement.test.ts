import { expect, test } from "vitest";
import { loadsOf, type PlacedSource, place } from "./shard-loads.ts";

/** The shards that so many new Sources get, one after another. */
function placed(
	sources: number,
	shards: number,
	before: PlacedSource[] = [],
	isFilling: (shard: number) => boolean = () => false,
): number[] {
	const loads = loadsOf(shards, before);
	return Array.from({ length: sources }, () => place(loads, "shop", isFilling));
}

function sourcesOn(shard: number, ...events: (number | undefined)[]) {
	return events.map((each) => ({ shard, namespace: "shop", events: each }));
}

test("with one shard, every Source gets it", () => {
	expect(placed(3, 1)).toEqual([0, 0, 0]);
});

test("Sources that are created together are spread evenly", () => {
	expect(placed(7, 3)).toEqual([0, 1, 2, 0, 1, 2, 0]);
});

test("a shard with one Source of much traffic gets no more, however many the others have", () => {
	const before = [
		...sourcesOn(0, 1_000_000),
		...sourcesOn(1, ...Array(9).fill(1_000)),
	];
	expect(placed(5, 2, before)).toEqual([1, 1, 1, 1, 1]);
});

test("an added shard gets Sources until it presumably carries as much as the others", () => {
	const before = sourcesOn(0, ...Array(10).fill(1_000));
	const shards = placed(14, 2, before);
	expect(shards.slice(0, 10)).toEqual(Array(10).fill(1));
	expect(shards.slice(10)).toEqual([0, 1, 0, 1]);
});

test("a new Source without events counts as a typical one, a silent one as nothing", () => {
	const known = sourcesOn(0, 500, 500, 500);
	expect(placed(1, 2, [...known, ...sourcesOn(1, ...Array(4))])).toEqual([0]);
	expect(placed(1, 2, [...known, ...sourcesOn(1, 0, 0, 0, 0)])).toEqual([1]);
});

test("one namespace's Sources that never send don't steer those of others", () => {
	const busy = (shard: number) => sourcesOn(shard, ...Array(25).fill(100_000));
	const silent = sourcesOn(0, ...Array(100)).map((source) => ({
		...source,
		namespace: "attacker",
	}));
	const shards = placed(100, 2, [...busy(0), ...busy(1), ...silent]);
	expect(shards.filter((shard) => shard === 0).length).toBeGreaterThan(40);
});

test("many new Sources of one namespace are spread evenly", () => {
	const before = [...sourcesOn(0, 1_000), ...sourcesOn(1, 1_001)];
	const shards = placed(40, 2, before);
	expect(shards.filter((shard) => shard === 0)).toHaveLength(20);
});

test("a shard whose buffer fills gets none, unless all fill", () => {
	const before = sourcesOn(1, 9, 9);
	expect(placed(1, 2, before, (shard) => shard === 0)).toEqual([1]);
	expect(placed(1, 2, before, () => true)).toEqual([0]);
});

test("a Source of a shard that isn't there any more counts nowhere", () => {
	expect(loadsOf(1, sourcesOn(7, 100)).shards).toEqual([
		{ shard: 0, sources: 0, events: 0 },
	]);
});

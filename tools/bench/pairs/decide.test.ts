import { expect, test } from "vitest";
import { type Pair, verdictOf } from "./decide.ts";

const steady = [100, 101, 99, 100, 102];
/** Half of their spread is a tenth of the median. */
const varying = [100, 110, 90, 95, 105];

test.each<[string, number[], number[], "less" | "more", string]>([
	["the same time", steady, [101, 100, 100, 99, 101], "less", "as before"],
	["a quarter more time", steady, [125, 126, 125, 124, 127], "less", "slower"],
	["a quarter less time", steady, [75, 76, 74, 75, 77], "less", "faster"],
	["4 % more time", steady, [104, 105, 103, 104, 106], "less", "slower"],
	["2 % more time", steady, [102, 103, 101, 102, 104], "less", "as before"],
	[
		"7 % more, less than the base varies",
		varying,
		[107, 118, 97, 102, 112],
		"less",
		"as before",
	],
	[
		"a quarter more, though the base varies",
		varying,
		[125, 137, 112, 119, 131],
		"less",
		"slower",
	],
	[
		"a pair that was not slower",
		steady,
		[125, 126, 98, 124, 127],
		"less",
		"as before",
	],
	[
		"a throughput of a quarter less",
		steady,
		[75, 76, 74, 75, 77],
		"more",
		"slower",
	],
	[
		"a throughput of a quarter more",
		steady,
		[125, 126, 125, 124, 127],
		"more",
		"faster",
	],
])("%s", (_, bases, trees, better, is) => {
	const pairs: Pair[] = bases.map((base, n) => ({ base, tree: trees[n]! }));
	expect(verdictOf(pairs, better).is).toBe(is);
});

test("slower one way round is faster the other way round", () => {
	const pairs = steady.map((base) => ({ base, tree: 1.2 * base }));
	const turned = pairs.map(({ base, tree }) => ({ base: tree, tree: base }));
	expect(verdictOf(pairs, "less").is).toBe("slower");
	expect(verdictOf(turned, "less").is).toBe("faster");
});

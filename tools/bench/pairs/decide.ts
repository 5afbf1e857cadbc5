import { median } from "../measure/measurement.ts";

/** A figure of the base commit, and the same of the work tree right before or after it. */
export interface Pair {
	base: number;
	tree: number;
}

export interface Verdict {
	/** The median of what the tree takes for what the base takes 1: more is worse, also of a throughput. */
	cost: number;
	/** How far from 1 the cost may be. */
	margin: number;
	is: "slower" | "faster" | "as before";
}

/** Two builds of the same program differ by as much, by where the linker and V8 put things. */
const leastMargin = 0.03;

/**
 * The tree is slower if it was slower in each pair, and in the median by more than half of what the base's own runs differ by from
 * each other, and by 3 % at least; faster likewise.
 *
 * If nothing has changed, five pairs agree by chance once in 16, and their median is beyond the margin less often: with runs that vary
 * by 4 % (a standard deviation), 1.5 of 100 figures are called slower (a simulation). So main.ts measures such a bench once more.
 * A quarter more time is seen in 98 of 100 with runs that vary by 6 %, and a tenth in 75 with 4 %.
 */
export function verdictOf(
	pairs: readonly Pair[],
	better: "less" | "more",
): Verdict {
	const costs = pairs.map(({ base, tree }) =>
		better === "less" ? tree / base : base / tree,
	);
	const bases = pairs.map(({ base }) => base);
	const spread = (Math.max(...bases) - Math.min(...bases)) / median(bases);
	const margin = Math.max(leastMargin, spread / 2);
	const cost = median(costs);
	const isSlower = cost > 1 + margin && costs.every((one) => one > 1);
	const isFaster = cost < 1 / (1 + margin) && costs.every((one) => one < 1);
	return {
		cost,
		margin,
		is: isSlower ? "slower" : isFaster ? "faster" : "as before",
	};
}

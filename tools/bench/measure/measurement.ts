/** One figure of a bench: a line of the table, and a JSON line in the log. */
export interface Measurement {
	metric: string;
	/** The median of the rounds. */
	value: number;
	unit: string;
	/** How many rounds it was measured in. */
	rounds: number;
	/** The least and the most of the rounds. */
	spread: Spread;
	/** The figure it is compared with: the median of the same rounds on the same machine. */
	baseline?: number;
	baselineSpread?: Spread;
	/** The median of each round's value / baseline, which stays the same when a slow round slows both. */
	ratio?: number;
	ratioSpread?: Spread;
	goal?: Goal;
}

export type Spread = [least: number, most: number];

/** What the figure should be. */
export interface Goal {
	atLeast?: number;
	atMost?: number;
	ratioAtLeast?: number;
	ratioAtMost?: number;
}

/** One bench; tools/bench/run.ts lists them by name. */
export interface Bench {
	/** What is compared with what, for the person who reads the table. */
	about: string;
	run(say: Say): Promise<Measurement[]>;
}

/** Reports progress to the person who waits. */
export type Say = (progress: string) => void;

/** @param values one per round. */
export function figure(
	metric: string,
	values: number | readonly number[],
	unit: string,
	goal?: Goal,
): Measurement {
	const rounds = [values].flat();
	return {
		metric,
		value: median(rounds),
		unit,
		rounds: rounds.length,
		spread: spreadOf(rounds),
		...(goal && { goal }),
	};
}

/** @param values one per round, beside the baseline of the same round. */
export function compared(
	metric: string,
	unit: string,
	values: number | readonly number[],
	baselines: number | readonly number[],
	goal?: Goal,
): Measurement {
	const [ours, theirs] = [[values].flat(), [baselines].flat()];
	if (ours.length !== theirs.length)
		throw new Error(
			`${metric}: ${ours.length} rounds can't be compared with ${theirs.length}`,
		);
	const ratios = ours.map((value, round) => value / theirs[round]!);
	return {
		...figure(metric, ours, unit, goal),
		baseline: median(theirs),
		baselineSpread: spreadOf(theirs),
		ratio: median(ratios),
		ratioSpread: spreadOf(ratios),
	};
}

/** Says that a figure misses its goal, and lets the bench fail: for what no other work on the machine changes. */
export function requireGoal(
	{ metric, value, ratio = 1, goal = {} }: Measurement,
	say: Say,
): void {
	const { atLeast = -Infinity, atMost = Infinity } = goal;
	const { ratioAtLeast = 0, ratioAtMost = Infinity } = goal;
	const isMet =
		value >= atLeast &&
		value <= atMost &&
		ratio >= ratioAtLeast &&
		ratio <= ratioAtMost;
	if (isMet) return;
	const missed = goal.ratioAtMost === undefined ? value : ratio;
	say(`MISSED: ${metric}: ${missed.toFixed(3)}`);
	process.exitCode = 1;
}

function spreadOf(values: readonly number[]): Spread {
	return [Math.min(...values), Math.max(...values)];
}

/** The middle value; of an even number of values, the lower middle one. */
export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** The smallest value that at least this share of the values doesn't exceed. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

/** One figure of a bench. It becomes one line for people and one JSON line for machines. */
export interface Measurement {
	metric: string;
	value: number;
	unit: string;
	/** What it is compared with, measured in the same run on the same machine; `ratio` is value / baseline. */
	baseline?: number;
	ratio?: number;
}

/** A bench in a file of its own, named in bench/run.ts. */
export interface Bench {
	/** What is compared with what, for the person who reads the table. */
	about: string;
	run(say: (progress: string) => void): Promise<Measurement[]>;
}

/** The middle one: of an even number, the lower. */
export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** The smallest of the values that this share of them doesn't exceed. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

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

/** Of the straight line that is nearest to the points (least squares). */
export function slope(
	points: readonly (readonly [x: number, y: number])[],
): number {
	const mean = (values: number[]) =>
		values.reduce((sum, value) => sum + value, 0) / values.length;
	const x = mean(points.map(([x]) => x));
	const y = mean(points.map(([, y]) => y));
	return (
		mean(points.map(([px, py]) => (px - x) * (py - y))) /
		mean(points.map(([px]) => (px - x) ** 2))
	);
}

/** The smallest of the values that this share of them doesn't exceed. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

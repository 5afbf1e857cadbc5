/** One figure of a bench: a line of the table, and a JSON line in the log. */
export interface Measurement {
	metric: string;
	value: number;
	unit: string;
	/** The figure it is compared with, from the same run on the same machine; `ratio` is value / baseline. */
	baseline?: number;
	ratio?: number;
}

/** One bench; bench/run.ts lists them by name. */
export interface Bench {
	/** What is compared with what, for the person who reads the table. */
	about: string;
	run(say: Say): Promise<Measurement[]>;
}

/** Reports progress to the person who waits. */
export type Say = (progress: string) => void;

export function figure(
	metric: string,
	value: number,
	unit: string,
): Measurement {
	return { metric, value, unit };
}

export function compared(
	metric: string,
	unit: string,
	value: number,
	baseline: number,
): Measurement {
	return { metric, value, unit, baseline, ratio: value / baseline };
}

/** The middle value; of an even number of values, the lower middle one. */
export function median(values: readonly number[]): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
}

/** Slope of the line that fits the points best (least squares). */
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

/** The smallest value that at least this share of the values doesn't exceed. */
export function percentile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

import { compared, figure, type Measurement, type Say } from "./measurement.ts";

/** As many as a bench takes, unless BENCH_ROUNDS says otherwise. */
export function roundsOf(usual: number): number {
	return Number(process.env.BENCH_ROUNDS || usual);
}

/** The parts to measure: all, or those that `BENCH_PARTS` names. */
export function partsOf<Part extends string>(
	measures: Record<Part, unknown>,
): Part[] {
	const named = process.env.BENCH_PARTS?.split(/[ ,]/);
	return (Object.keys(measures) as Part[]).filter(
		(part) => !named || named.includes(part),
	);
}

export interface Rounds<Result> {
	count: number;
	say: Say;
	/** The result of a leg, for the person who waits. */
	text(result: Result): string;
	/** Is called after each leg. */
	after?: () => Promise<void>;
}

/** Takes the legs in turn, round after round, so that a slow machine slows all. Each begins a round in its turn. */
export async function alternate<Legs extends Record<string, unknown>>(
	what: string,
	legs: { [Name in keyof Legs]: () => Promise<Legs[Name]> },
	{ count, say, text, after }: Rounds<Legs[keyof Legs]>,
): Promise<{ [Name in keyof Legs]: Legs[Name][] }> {
	const names = Object.keys(legs) as (keyof Legs & string)[];
	const results = Object.fromEntries(
		names.map((name) => [name, []]),
	) as unknown as { [Name in keyof Legs]: Legs[Name][] };
	for (let round = 0; round < count; round++) {
		for (let i = 0; i < names.length; i++) {
			const name = names[(round + i) % names.length]!;
			results[name].push(await legs[name]());
			await after?.();
		}
		const latest = names.map(
			(name) => `${name} ${text(results[name].at(-1)!)}`,
		);
		say(`${what}, round ${round + 1} of ${count}: ${latest.join("; ")}`);
	}
	return results;
}

/** Runs a whole bench several times. Each run, whose figures have one round each, is a round. */
export async function wholeRounds(
	count: number,
	say: Say,
	run: () => Promise<Measurement[]>,
): Promise<Measurement[]> {
	const runs: Measurement[][] = [];
	for (let round = 1; round <= count; round++) {
		say(`round ${round} of ${count}`);
		runs.push(await run());
	}
	return runs[0]!.map(({ metric, unit, goal, baseline }, i) => {
		const values = runs.map((run) => run[i]!.value);
		const baselines = runs.map((run) => run[i]!.baseline!);
		return baseline === undefined
			? figure(metric, values, unit, goal)
			: compared(metric, unit, values, baselines, goal);
	});
}

import { expect, test } from "vitest";
import { runHistory } from "../support/fixtures/data-plane/history/history.ts";

/*
 * Whatever happens around a Pipeline, its table holds after each Run what the documentation promises. `make table-histories
 * SEEDS=1..200` tries many histories, and SEED=7 one of them again.
 */

const seeds = seedsOf(process.env.TABLE_SEEDS ?? "1..5");
const steps = Number(process.env.TABLE_STEPS ?? 40);

for (const warehouse of ["DuckDB", "BigQuery"] as const)
	test.each(seeds)(
		`${warehouse}, seed %i: after each Run the table holds what the documentation promises`,
		async (seed) => {
			const told = await runHistory(warehouse, seed, steps);
			if (process.env.TABLE_TELL) console.log(told.join("\n"));
		},
	);

/** `7`, `1..200`, or several of these separated by commas. */
function seedsOf(text: string): number[] {
	return text.split(",").flatMap((part) => {
		const [first = Number.NaN, last = first] = part.split("..").map(Number);
		expect(first, `TABLE_SEEDS ${text}`).toBeLessThanOrEqual(last);
		return Array.from({ length: last - first + 1 }, (_, i) => first + i);
	});
}

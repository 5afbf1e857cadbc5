import { test } from "vitest";
import { runHistory } from "../support/fixtures/data-plane/history/history.ts";

/** Whatever happens around a Pipeline, its table holds after each Run what the documentation promises: a random history for each seed. */
export function tryHistories(seeds: number[]): void {
	const steps = Number(process.env.TABLE_STEPS ?? 40);
	for (const warehouse of ["DuckDB", "BigQuery"] as const)
		test.each(seeds)(
			`${warehouse}, seed %i: after each Run the table holds what the documentation promises`,
			async (seed) => {
				const told = await runHistory(warehouse, seed, steps);
				if (process.env.TABLE_TELL) console.log(told.join("\n"));
			},
		);
}

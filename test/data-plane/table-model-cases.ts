import { test } from "vitest";
import { postgresOfFile } from "../support/fixtures/data-plane/postgres-fixture.ts";
import { runHistory } from "./history/history.ts";

/** Whatever happens around a Pipeline, its table holds after each Run what the documentation promises: a random history for each seed. */
export function tryHistories(
	seeds: number[],
	on: readonly ("DuckDB" | "BigQuery" | "Postgres")[],
): void {
	const steps = Number(process.env.TABLE_STEPS ?? 40);
	const postgres = on.includes("Postgres") ? postgresOfFile() : undefined;
	for (const warehouse of on)
		test.each(seeds)(
			`${warehouse}, seed %i: after each Run the table holds what the documentation promises`,
			async (seed) => {
				const told = await runHistory(warehouse, seed, steps, postgres?.());
				if (process.env.TABLE_TELL) console.log(told.join("\n"));
			},
		);
}

import type { DestinationInput, LoadInput } from "../../contracts/job.ts";
import type { LoadDay } from "./days.ts";
import type { JobContext } from "./job.ts";

/** A warehouse, as load and check see it. Everything that can be wrong with it is a thrown {@link JobFailure}. */
export interface Destination {
	/**
	 * Puts the manifest's days into the table, each as a whole: Incremental replaces these days and touches no other,
	 * FullReload replaces the table. The days' objects are on disk and have been checked. Can be repeated at any time.
	 * @param snapshotMs the instant of which the days hold every event before it, in milliseconds since the epoch.
	 */
	load(input: LoadInput, days: LoadDay[], snapshotMs: number): Promise<void>;
	/** Verifies that a Run could write, and leaves nothing behind. */
	check(): Promise<void>;
}

/** Only the warehouse that is asked for is imported: each brings its own libraries. */
export async function openDestination(
	input: DestinationInput,
	context: JobContext,
): Promise<Destination> {
	switch (input.type) {
		case "DuckDB": {
			const { DuckDBDestination } = await import("./duckdb/destination.ts");
			return new DuckDBDestination(input, context);
		}
		case "BigQuery": {
			const { BigQueryDestination } = await import("./bigquery/destination.ts");
			return BigQueryDestination.open(input, context);
		}
	}
}

import type { DestinationInput } from "../../packages/contracts/job.ts";
import type { Destination } from "../../packages/warehouses/load/warehouse.ts";
import type { JobContext } from "../job/process.ts";

/**
 * Whether a Destination is given its days one by one, with one day on disk at a time. A DuckDB file is changed in one
 * transaction, by one statement that reads all days.
 */
export function takesDaysOneByOne({ type }: DestinationInput): boolean {
	return type === "BigQuery";
}

/** Opens a Destination of any type. Imports only the one that is needed, since each brings its own libraries. */
export async function openDestination(
	input: DestinationInput,
	context: JobContext,
): Promise<Destination> {
	switch (input.type) {
		case "DuckDB": {
			const { DuckDBDestination } = await import(
				"../../packages/warehouses/duckdb/load/destination.ts"
			);
			return new DuckDBDestination(input, context);
		}
		case "BigQuery": {
			const { BigQueryDestination } = await import(
				"../../packages/warehouses/bigquery/load/destination.ts"
			);
			return BigQueryDestination.open(input, context);
		}
	}
}

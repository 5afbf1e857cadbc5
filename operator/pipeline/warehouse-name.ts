import type { Destination, Pipeline } from "../../crds/generated/types.ts";
import { tableNameOf } from "../../crds/table-name.ts";

/**
 * What a Pipeline's Runs write to, as layouts name it, even if they can't run. One process at a time may write to it, and it
 * is unique within a namespace: a DuckDB file on its volume, or one table in BigQuery, since BigQuery loads many tables at
 * once.
 */
export function warehouseNameOf(
	{ metadata, spec: { table } }: Pipeline,
	{ spec }: Destination,
): string {
	if (spec.bigQuery) {
		const { projectId, dataset } = spec.bigQuery;
		const name = tableNameOf(metadata.name, table.name);
		return `BigQuery:${projectId}.${dataset}.${name}`;
	}
	const { volumeClaimName, path } = spec.duckDB!;
	return `DuckDB:${volumeClaimName ? `${volumeClaimName}/` : ""}${path}`;
}

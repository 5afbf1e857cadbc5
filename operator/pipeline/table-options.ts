import type { Destination, Pipeline } from "../../crds/generated/types.ts";
import type { TableColumn } from "../../packages/contracts/job.ts";

/** Why a table can't have the options of `spec.table.bigQuery`, and what to do about it; undefined if it can. */
export function tableOptionsProblem(
	{ spec: { table } }: Pipeline,
	{ metadata, spec }: Destination,
	columns: TableColumn[],
): string | undefined {
	if (!table.bigQuery) return undefined;
	if (spec.type !== "BigQuery")
		return `Destination "${metadata.name}" is of type ${spec.type}. Remove spec.table.bigQuery, or change spec.destinationRef.name.`;
	for (const name of table.bigQuery.clusterBy ?? []) {
		const column = columns.find((column) => column.name === name);
		const field = `spec.table.bigQuery.clusterBy has "${name}", `;
		if (!column)
			return `${field}which is no column of the table. Its columns are ${columns.map(({ name }) => name).join(", ")}.`;
		if (isNumber(column))
			return `${field}a column of type Number, by which BigQuery can't sort. Remove it, or load the value as Integer or String.`;
	}
	return undefined;
}

/** A FLOAT64 in BigQuery, the only type of ours that can't be clustered by (cloud.google.com/bigquery/docs/creating-clustered-tables#limitations). */
function isNumber({ from }: TableColumn): boolean {
	return typeof from === "object" && "type" in from && from.type === "Number";
}

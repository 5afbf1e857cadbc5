import type {
	Pipeline,
	PipelineColumn,
	PipelineEventTypeTables,
} from "./generated/types.ts";

/** The table of events in quarantine. Queries of several tables by a wildcard, such as `orders_*`, don't find it. */
export function quarantineTableOf(table: string): string {
	return `quarantine_${table}`;
}

/** The table of the values that columns of a table couldn't hold. */
export function rejectedTableOf(table: string): string {
	return `${table}_rejected`;
}

/** The view of the latest rows of a table. */
export function latestViewOf(table: string): string {
	return `${table}_latest`;
}

/** The table of events of other types, where each type has one. */
export function otherTypesTableOf(table: string): string {
	return `${table}_other`;
}

/** How a table is named to people that stands for one of each type. */
export function anyTypesTableOf(table: string): string {
	return `${table}_*`;
}

/**
 * The name of a Pipeline's table: that of the spec, or the Pipeline's name as an SQL identifier. Kubernetes names have no
 * `_`, so two Pipelines never get the same generated name.
 */
export function tableNameOf(
	pipeline: string,
	wanted: string | undefined,
): string {
	if (wanted) return wanted;
	const name = pipeline.replaceAll("-", "_");
	return /^\d/.test(name) ? `_${name}` : name;
}

/** The types that have a table under the Pipeline's name of today. */
export function typeTablesOf({
	metadata,
	spec: { table },
	status,
}: Pick<
	Pipeline,
	"metadata" | "spec" | "status"
>): PipelineEventTypeTables["types"] {
	const known = status?.eventTypeTables;
	const isSame = known?.table === tableNameOf(metadata.name, table.name);
	return isSame ? known.types : [];
}

/** The columns that members of bodies have got under the Pipeline's table name of today. */
export function inferredColumnsOf({
	metadata,
	spec: { table },
	status,
}: Pick<Pipeline, "metadata" | "spec" | "status">): PipelineColumn[] {
	const known = status?.inferredColumns;
	const isSame = known?.table === tableNameOf(metadata.name, table.name);
	return table.schema === "Evolve" && isSame ? known.columns : [];
}

/** The column of what no column holds of a body. No other column's name begins so. */
export const rescuedColumn = "_rescued";

export function headerColumnOf(header: string): string {
	return `header_${header.replaceAll("-", "_")}`;
}

/** The column of a captured query parameter. */
export function parameterColumnOf(parameter: string): string {
	return `query_${parameter.toLowerCase().replaceAll(/[.-]/g, "_")}`;
}

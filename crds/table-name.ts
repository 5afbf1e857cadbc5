/** The table of events in quarantine. Queries of several tables by a wildcard, such as `orders_*`, don't find it. */
export function quarantineTableOf(table: string): string {
	return `quarantine_${table}`;
}

/** The table of the values that columns of a table couldn't hold. */
export function rejectedTableOf(table: string): string {
	return `${table}_rejected`;
}

/** Its columns, in a sentence for people who query it. */
export const rejectedColumns = {
	event_id: "The event's id. An event has a row for each of its values.",
	date: "The UTC date of the event. Filter by it: days are loaded as a whole.",
	column_name: "The column that couldn't hold the value.",
	value:
		"The value as JSON text, as it was sent. The end of a longer one than 1,024 bytes is cut off.",
	reason: "Why the column couldn't hold it.",
} as const;

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

/** What the columns of `spec.table.columns` are called in the table. */
export const columnNames = {
	EventID: "event_id",
	Timestamp: "timestamp",
	Body: "body",
	Date: "date",
	Violations: "violations",
	LoadedAt: "loaded_at",
	Run: "run",
} as const;

export function headerColumnOf(header: string): string {
	return `header_${header.replaceAll("-", "_")}`;
}

/** The column of a captured query parameter. */
export function parameterColumnOf(parameter: string): string {
	return `query_${parameter.toLowerCase().replaceAll(/[.-]/g, "_")}`;
}

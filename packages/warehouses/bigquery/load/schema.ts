import { createHash } from "node:crypto";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { columnSql, missingComments } from "../../load/columns.ts";
import { pipelineOf, type TableMark } from "../../load/table-mark.ts";
import type { ExistingColumn, WantedColumn } from "../../load/table-plan.ts";
import type { MarkedTable } from "../../load/warehouse.ts";
import type { BigQueryTableOptions } from "../definition.ts";
import type { BigQueryField, BigQueryTable } from "./rest/google-refusal.ts";

/**
 * DuckDB's type → BigQuery's, by the names that tables.get has (cloud.google.com/bigquery/docs/reference/rest/v2/tables), as
 * Parquet carries it over. JSON is a STRING: BigQuery loads no JSON from Parquet.
 */
const types: Record<string, string> = {
	VARCHAR: "STRING",
	"TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
	DATE: "DATE",
	BIGINT: "INTEGER",
	DOUBLE: "FLOAT",
	BOOLEAN: "BOOLEAN",
	JSON: "STRING",
};

export function wantedColumns({
	columns,
	options,
}: TableOfColumns): WantedColumn[] {
	return columns.map((column) => ({
		...column,
		type: isJson(column, options) ? "JSON" : typeOf(columnSql(column).type),
	}));
}

type TableOfColumns = Pick<LoadInput["table"], "columns" | "options">;

/** Whether BigQuery holds the column's values as JSON. */
export function isJson(
	{ from }: TableColumn,
	{ bodyType }: BigQueryTableOptions = {},
): boolean {
	return from === "Body" && bodyType === "JSON";
}

/**
 * A decimal has the narrowest type that holds all its values, as BigQuery chooses it for one of Parquet
 * (cloud.google.com/bigquery/docs/loading-data-cloud-storage-parquet#decimal_logical_type).
 */
function typeOf(type: string): string {
	const [, precision, scale] = /^DECIMAL\((\d+),(\d+)\)$/.exec(type) ?? [];
	if (precision === undefined) return types[type]!;
	const isNumeric =
		Number(precision) - Number(scale) <= 29 && Number(scale) <= 9;
	return isNumeric ? "NUMERIC" : "BIGNUMERIC";
}

export function fieldsOf(table: TableOfColumns): BigQueryField[] {
	return wantedColumns(table).map(({ name, type }) => ({ name, type }));
}

/** A table's fields with the descriptions that they lack; undefined if they have all. */
export function describedFields(
	{ schema }: Pick<BigQueryTable, "schema">,
	columns: readonly TableColumn[],
): BigQueryField[] | undefined {
	const fields = schema?.fields ?? [];
	const missing = missingComments(
		columns,
		fields.map(({ name, description }) => ({
			name,
			comment: (description as string | undefined) ?? null,
		})),
	);
	let isChanged = false;
	const described = fields.map((field) => {
		const found = missing.find(
			({ name }) => name.toLowerCase() === field.name.toLowerCase(),
		);
		if (found) isChanged = true;
		return found ? { ...field, description: found.comment } : field;
	});
	return isChanged ? described : undefined;
}

/** A column of REPEATED values can't be NULL, and has an empty array in its place. */
export function markedTable({
	tableReference,
	schema,
}: Pick<BigQueryTable, "tableReference" | "schema">): MarkedTable {
	const blanks: Record<string, string | undefined> = {
		NULLABLE: "NULL",
		REPEATED: "[]",
	};
	return {
		name: tableReference.tableId,
		columns: (schema?.fields ?? []).map(
			({ name, type, mode = "NULLABLE", description }) => ({
				...{ name, type, comment: (description as string | undefined) ?? null },
				blank: blanks[mode],
			}),
		),
	};
}

/** A REQUIRED or REPEATED column counts as another type than a NULLABLE one. */
export function existingColumns({ schema }: BigQueryTable): ExistingColumn[] {
	return (schema?.fields ?? []).map(({ name, type, mode = "NULLABLE" }) => ({
		name,
		type: mode === "NULLABLE" ? type : `${mode} ${type}`,
	}));
}

/** Labels that load puts on tables and jobs. */
export const label = {
	/** Uid of the Run. */
	run: "tidemill-run",
	/** On a table: the snapshot time of its data, in milliseconds since the epoch. */
	snapshot: "tidemill-snapshot",
	/** On a table: the Pipeline that loads it. Its namespace and its name together are too long for one label. */
	namespace: "tidemill-namespace",
	pipeline: "tidemill-pipeline",
	/** On a table: the key of the Source that the Pipeline loads. Early builds leave it empty while `through` is. */
	source: "tidemill-source",
	/** On a table: the date of {@link TableMark} `holds`; empty while it has none. */
	through: "tidemill-through",
	/** On a view of latest rows: a digest of what it selects. */
	view: "tidemill-view",
	/** On a job: a digest of the table that it writes to. */
	table: "tidemill-table",
} as const;

/** A table's mark as labels: they go with the table when it is dropped. */
export function labelsOf({
	run,
	snapshotMs,
	pipeline,
	sourceKey,
	holds,
}: TableMark): Record<string, string> {
	const [namespace, name] = pipeline?.split("/") ?? [];
	return {
		[label.run]: run,
		[label.snapshot]: String(snapshotMs),
		...(namespace &&
			name && { [label.namespace]: namespace, [label.pipeline]: name }),
		[label.source]: sourceKey ?? holds?.sourceKey ?? "",
		[label.through]: holds?.through ?? "",
	};
}

export function markOf({
	labels = {},
}: Pick<BigQueryTable, "labels">): TableMark | undefined {
	const run = labels[label.run];
	if (!run) return undefined;
	const [namespace, name] = [labels[label.namespace], labels[label.pipeline]];
	const [sourceKey, through] = [labels[label.source], labels[label.through]];
	return {
		run,
		snapshotMs: Number(labels[label.snapshot] ?? 0),
		...(namespace && name && { pipeline: `${namespace}/${name}` }),
		...(namespace && name && sourceKey && { sourceKey }),
		...(sourceKey && through && { holds: { sourceKey, through } }),
	};
}

/**
 * The table's mark, as a load of the Pipeline reads it. A load of an early build that was interrupted leaves neither Pipeline
 * nor Source in it. The description with which it creates its table names both.
 */
export function markFor(
	table: Pick<BigQueryTable, "labels" | "description">,
	input: Pick<LoadInput, "table" | "run">,
): TableMark | undefined {
	const mark = markOf(table);
	const isUnnamed = mark && !mark.pipeline && !mark.holds;
	return isUnnamed && table.description === input.table.description
		? { ...mark, pipeline: pipelineOf(input) }
		: mark;
}

export function tableDigest(dataset: string, table: string): string {
	return createHash("sha256")
		.update(`${dataset}.${table}`)
		.digest("hex")
		.slice(0, 16);
}

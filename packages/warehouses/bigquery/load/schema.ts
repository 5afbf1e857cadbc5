import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { columnSql } from "../../load/columns.ts";
import type {
	ExistingColumn,
	WantedColumn,
} from "../../load/incompatibility.ts";
import type { MarkedTable } from "../../load/row-access.ts";
import { missingComments } from "../../load/table-comment.ts";
import type { BigQueryTableOptions } from "../input.ts";
import type { BigQueryField, BigQueryTable } from "./rest/api.ts";

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

import type { TableColumn } from "../../../contracts/job.ts";
import { columnSql } from "../columns.ts";
import type { ExistingColumn, WantedColumn } from "../incompatibility.ts";
import type { Field, Table } from "./api.ts";

/** BigQuery's types for DuckDB's; Parquet carries them over. Body is a STRING: BigQuery takes no JSON from Parquet. */
const types: Record<string, string> = {
	VARCHAR: "STRING",
	"TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
	DATE: "DATE",
};

export function wantedColumns(columns: TableColumn[]): WantedColumn[] {
	return columns.map((column) => ({
		...column,
		type: types[columnSql(column).type]!,
	}));
}

export function fieldsOf(columns: TableColumn[]): Field[] {
	return wantedColumns(columns).map(({ name, type }) => ({ name, type }));
}

/** A column that is REQUIRED or REPEATED is of another type than one that may be empty. */
export function existingColumns({ schema }: Table): ExistingColumn[] {
	return (schema?.fields ?? []).map(({ name, type, mode = "NULLABLE" }) => ({
		name,
		type: mode === "NULLABLE" ? type : `${mode} ${type}`,
	}));
}

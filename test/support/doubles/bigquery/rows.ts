import { quoteName } from "../../../../packages/duckdb/quoting.ts";
import type {
	BigQueryField,
	TableReference,
} from "../../../../packages/warehouses/bigquery/load/rest/google-refusal.ts";
import type { Api, Call } from "./call.ts";
import { onPartition, partitionOf } from "./warehouse.ts";

/** The rows of a table, or of a partition (cloud.google.com/bigquery/docs/reference/rest/v2/tabledata/list). */
export async function listRows(
	{ warehouse }: Api,
	{ url }: Call,
	reference: TableReference,
): Promise<object> {
	const table = warehouse.require(reference);
	const isMicroseconds =
		url.searchParams.get("formatOptions.useInt64Timestamp") === "true";
	const columns = (table.schema?.fields ?? []).map((field) =>
		textOf(field, isMicroseconds),
	);
	const date = partitionOf(reference.tableId);
	const where = date === undefined ? "" : ` WHERE ${onPartition(table, date)}`;
	const rows = await warehouse.alone(() =>
		warehouse.sql(
			`SELECT ${columns.join(", ")} FROM ${warehouse.sqlName(reference)}${where}`,
		),
	);
	return {
		kind: "bigquery#tableDataList",
		totalRows: String(rows.length),
		rows: rows.map((values) => ({ f: values.map((v) => ({ v })) })),
	};
}

/** Each value is a text or null; a TIMESTAMP is in seconds unless the request says microseconds (DataFormatOptions). */
function textOf(
	{ name, type }: BigQueryField,
	isMicroseconds: boolean,
): string {
	const column = quoteName(name);
	if (type !== "TIMESTAMP") return `${column}::VARCHAR`;
	return isMicroseconds
		? `epoch_us(${column})::VARCHAR`
		: `epoch(${column})::VARCHAR`;
}

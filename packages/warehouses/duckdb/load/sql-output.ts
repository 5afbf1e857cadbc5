import {
	DuckDBDecimalValue,
	type DuckDBResult,
	DuckDBTimestampTZValue,
	DuckDBTypeId,
	type DuckDBValue,
	type DuckDBValueConverter,
	type Json,
	JsonDuckDBValueConverter,
} from "@duckdb/node-api";
import { rawNumber } from "../../../service/exact-json.ts";
import { type SqlFormat, SqlUsageError } from "../../definition/sql.ts";
import { renderTable } from "./sql-table.ts";

/**
 * A result as text, piece by piece: `json` is one object a line, `csv` starts with a header line. Both stream and give each
 * value in full. `table` cuts columns to `width` terminal cells, if given.
 */
export async function* output(
	result: DuckDBResult,
	format: SqlFormat,
	width?: number,
): AsyncGenerator<string> {
	const names = result.deduplicatedColumnNames();
	switch (format) {
		case "json":
			for await (const row of jsonRows(result))
				yield `${JSON.stringify(Object.fromEntries(names.map((name, index) => [name, row[index]])))}\n`;
			return;
		case "csv":
			yield csvLine(names);
			for await (const row of textRows(result)) yield csvLine(row);
			return;
		case "table": {
			const columns = names.map((name, index) => ({
				name,
				numeric: numeric.has(result.columnTypeId(index)),
			}));
			yield renderTable(columns, await tableRows(result), width);
		}
	}
}

/** A table's columns are as wide as their widest value, so all rows are held. */
const maxTableCharacters = 64 * 1024 ** 2;

async function tableRows(result: DuckDBResult): Promise<(string | null)[][]> {
	const rows: (string | null)[][] = [];
	let characters = 0;
	for await (const row of textRows(result)) {
		rows.push(row);
		for (const cell of row) characters += cell?.length ?? 4;
		if (characters > maxTableCharacters)
			throw new SqlUsageError(
				`The first ${rows.length} rows have more than ${maxTableCharacters / 1024 ** 2} MiB of text, which is too much for a table. Add LIMIT, select left(body, 100), or use --format json or csv, which print row by row.`,
			);
	}
	return rows;
}

const numeric = new Set([
	DuckDBTypeId.TINYINT,
	DuckDBTypeId.SMALLINT,
	DuckDBTypeId.INTEGER,
	DuckDBTypeId.BIGINT,
	DuckDBTypeId.HUGEINT,
	DuckDBTypeId.UTINYINT,
	DuckDBTypeId.USMALLINT,
	DuckDBTypeId.UINTEGER,
	DuckDBTypeId.UBIGINT,
	DuckDBTypeId.UHUGEINT,
	DuckDBTypeId.FLOAT,
	DuckDBTypeId.DOUBLE,
	DuckDBTypeId.DECIMAL,
]);

/** One CSV record (RFC 4180: lines end in CRLF). NULL is an empty field, an empty string a quoted one. */
export function csvLine(cells: (string | null)[]): string {
	return `${cells.map(field).join(",")}\r\n`;
}

function field(cell: string | null): string {
	if (cell === null) return "";
	return cell === "" || /[",\r\n]/.test(cell)
		? `"${cell.replaceAll('"', '""')}"`
		: cell;
}

// The library renders timestamps in the process's time zone; Tidemill shows UTC everywhere.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;

/** A result's rows as text, in DuckDB's format. NULL is null. */
async function* textRows(
	result: DuckDBResult,
): AsyncGenerator<(string | null)[]> {
	for await (const rows of result.yieldRows())
		for (const row of rows)
			yield row.map((value) => (value === null ? null : String(value)));
}

/** A result's rows as JSON values. A number that JSON readers would round (RFC 8259 §6) is a string. */
async function* jsonRows(result: DuckDBResult): AsyncGenerator<Json[]> {
	for await (const rows of result.yieldConvertedRows(toJson)) yield* rows;
}

const toJson: DuckDBValueConverter<Json> = (value, type, converter) =>
	exactNumber(value) ?? JsonDuckDBValueConverter(value, type, converter);

function exactNumber(value: DuckDBValue): Json | undefined {
	if (typeof value === "bigint" && Number.isSafeInteger(Number(value)))
		return Number(value);
	// A double keeps any 15 decimal digits. The text keeps the zeros of 1.10, too.
	if (value instanceof DuckDBDecimalValue && value.width <= 15)
		return rawNumber(value.toString()) as Json;
	return undefined;
}

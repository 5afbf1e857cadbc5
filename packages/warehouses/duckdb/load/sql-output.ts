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
import { rawNumber } from "../../../json/json-reader.ts";
import type { SqlFormat } from "../../definition/sql.ts";
import { printed } from "../../load/query-output.ts";

/** A result as text: see {@link printed}. */
export function output(
	result: DuckDBResult,
	format: SqlFormat,
	width?: number,
): AsyncGenerator<string> {
	const columns = result.deduplicatedColumnNames().map((name, index) => ({
		name,
		numeric: numeric.has(result.columnTypeId(index)),
	}));
	const found = { columns, texts: textRows(result), values: jsonRows(result) };
	return printed(found, format, width);
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

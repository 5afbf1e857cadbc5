import {
	DuckDBDecimalValue,
	type DuckDBResult,
	DuckDBTimestampTZValue,
	type DuckDBValue,
	type DuckDBValueConverter,
	type Json,
	JsonDuckDBValueConverter,
} from "@duckdb/node-api";

// The library renders timestamps in the process's time zone; Tidemill shows UTC everywhere.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;

/** A result's rows as text, in DuckDB's format. NULL is null. */
export async function* textRows(
	result: DuckDBResult,
): AsyncGenerator<(string | null)[]> {
	for await (const rows of result.yieldRows())
		for (const row of rows)
			yield row.map((value) => (value === null ? null : String(value)));
}

/** A result's rows as JSON values. A number that JSON readers would round (RFC 8259 §6) is a string. */
export async function* jsonRows(result: DuckDBResult): AsyncGenerator<Json[]> {
	for await (const rows of result.yieldConvertedRows(toJson)) yield* rows;
}

const toJson: DuckDBValueConverter<Json> = (value, type, converter) =>
	exactNumber(value) ?? JsonDuckDBValueConverter(value, type, converter);

function exactNumber(value: DuckDBValue): number | undefined {
	if (typeof value === "bigint" && Number.isSafeInteger(Number(value)))
		return Number(value);
	// A double keeps any 15 decimal digits.
	if (value instanceof DuckDBDecimalValue && value.width <= 15)
		return Number(value.toString());
	return undefined;
}

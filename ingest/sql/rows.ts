import {
	DuckDBDecimalValue,
	type DuckDBResult,
	DuckDBTimestampTZValue,
	type DuckDBValue,
	type DuckDBValueConverter,
	type Json,
	JsonDuckDBValueConverter,
} from "@duckdb/node-api";

// The library renders instants in the zone of the process; ours are UTC everywhere.
DuckDBTimestampTZValue.timezoneOffsetInMinutes = 0;

/** The rows of a result as text, as DuckDB writes it; null is NULL. */
export async function* textRows(
	result: DuckDBResult,
): AsyncGenerator<(string | null)[]> {
	for await (const rows of result.yieldRows())
		for (const row of rows)
			yield row.map((value) => (value === null ? null : String(value)));
}

/** The rows of a result as JSON values. A number that JSON readers would round (RFC 8259 §6) is text. */
export async function* jsonRows(result: DuckDBResult): AsyncGenerator<Json[]> {
	for await (const rows of result.yieldConvertedRows(toJson)) yield* rows;
}

const toJson: DuckDBValueConverter<Json> = (value, type, converter) =>
	exactNumber(value) ?? JsonDuckDBValueConverter(value, type, converter);

function exactNumber(value: DuckDBValue): number | undefined {
	if (typeof value === "bigint" && Number.isSafeInteger(Number(value)))
		return Number(value);
	// Fifteen digits always survive the way through a double.
	if (value instanceof DuckDBDecimalValue && value.width <= 15)
		return Number(value.toString());
	return undefined;
}

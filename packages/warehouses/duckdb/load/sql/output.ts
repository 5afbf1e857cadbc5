import { type DuckDBResult, DuckDBTypeId } from "@duckdb/node-api";
import type { Format } from "../../../definition/sql.ts";
import { csvLine } from "./csv.ts";
import { jsonRows, textRows } from "./rows.ts";
import { renderTable } from "./table.ts";

/**
 * A result as text, piece by piece: `json` is one object a line, `csv` starts with a header line. Both stream and give each
 * value in full. `table` cuts columns to `width` terminal cells, if given.
 */
export async function* output(
	result: DuckDBResult,
	format: Format,
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
			yield renderTable(
				columns,
				await Array.fromAsync(textRows(result)),
				width,
			);
		}
	}
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

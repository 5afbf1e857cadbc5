import type { TableColumn } from "../../../contracts/job.ts";
import type { WantedColumn } from "../../load/incompatibility.ts";

/** What a column of a table has in ClickHouse, in the server's own spelling (system.columns). */
export function typeOf({ from }: TableColumn): string {
	switch (from) {
		case "EventID":
		case "Body":
			return "String";
		case "Timestamp":
			return instant;
		case "Date":
			return "Date";
		case "Violations":
		case "Run":
			return "Nullable(String)";
		case "LoadedAt":
			return `Nullable(${instant})`;
		default:
			if (!("bodyPointer" in from)) return "Nullable(String)";
			return from.type === "Decimal"
				? `Nullable(Decimal(${from.precision}, ${from.scale}))`
				: `Nullable(${types[from.type]})`;
	}
}

/** What says nothing in a column of a type, in SQL. Types that aren't Nullable have a value for it, which every type knows. */
export function blankOf(type: string): string {
	return /^(LowCardinality\()?Nullable\(/.test(type)
		? "NULL"
		: `defaultValueOfTypeName('${type.replace(/[\\']/g, "\\$&")}')`;
}

const instant = "DateTime64(6, 'UTC')";

const types = {
	String: "String",
	Integer: "Int64",
	Number: "Float64",
	Boolean: "Bool",
	Timestamp: instant,
	// Date holds 1970 to 2149 only.
	Date: "Date32",
	JSON: "JSON",
} as const;

export function wantedColumns(columns: readonly TableColumn[]): WantedColumn[] {
	return columns.map((column) => ({ ...column, type: typeOf(column) }));
}

export function hasJSON(columns: readonly TableColumn[]): boolean {
	return columns.some((column) => typeOf(column) === "Nullable(JSON)");
}

export function dateColumn(
	columns: readonly TableColumn[],
): string | undefined {
	return columns.find(({ from }) => from === "Date")?.name;
}

/** By which the rows are sorted if the Pipeline doesn't say. */
export function defaultOrder(columns: readonly TableColumn[]): string[] {
	return (["Date", "Timestamp", "EventID"] as const).flatMap(
		(from) => columns.find((column) => column.from === from)?.name ?? [],
	);
}

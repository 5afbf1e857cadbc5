import type { TableColumn } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { columnSql, isUnfitSql } from "../../load/columns.ts";
import type { WantedColumn } from "../../load/incompatibility.ts";
import { type JsonLimits, mayBeDeeper } from "../../load/json-fits.ts";
import type { PostgresTableOptions } from "../input.ts";

/** What a column of a table has in Postgres, in the server's own spelling (format_type). */
export function typeOf(
	{ from }: TableColumn,
	{ bodyType = "text" }: PostgresTableOptions = {},
): string {
	switch (from) {
		case "EventID":
		case "Violations":
		case "Run":
			return "text";
		case "Body":
			return bodyType;
		case "Timestamp":
		case "LoadedAt":
			return instant;
		case "Date":
			return "date";
		default:
			if (!("bodyPointer" in from)) return "text";
			return from.type === "Decimal"
				? `numeric(${from.precision},${from.scale})`
				: types[from.type];
	}
}

const instant = "timestamp with time zone";

const types = {
	String: "text",
	Integer: "bigint",
	Number: "double precision",
	Boolean: "boolean",
	Timestamp: instant,
	Date: "date",
	JSON: "jsonb",
} as const;

export function wantedColumns(
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
): WantedColumn[] {
	return columns.map((column) => ({
		...column,
		type: typeOf(column, options),
	}));
}

export function definitions(
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
): string {
	return columns
		.map((column) => `${quoteName(column.name)} ${typeOf(column, options)}`)
		.join(", ");
}

export function dateColumn(
	columns: readonly TableColumn[],
): string | undefined {
	return columns.find(({ from }) => from === "Date")?.name;
}

/** How DuckDB makes a column's value for COPY, and which rows have a value there that Postgres can't hold. */
export interface CopiedColumn {
	name: string;
	/** In Postgres. */
	type: string;
	value: string;
	/** Undefined if the column holds every value. */
	isUnfit: string | undefined;
	/** Whether the value counts as unfit whatever Postgres holds. */
	isCounted: string | undefined;
	isBody: boolean;
}

export const jsonFitsFunction = "tidemill_jsonb_fits_1";

/**
 * @param column One of `columns`, which the rows have.
 * @param found As {@link columnSql} has it.
 */
export function copiedColumn(
	column: TableColumn,
	columns: readonly TableColumn[],
	options?: PostgresTableOptions,
	found?: string,
): CopiedColumn {
	const {
		name,
		expression,
		type: engineType,
	} = columnSql(column, columns, found);
	const type = typeOf(column, options);
	const isBody = column.from === "Body";
	const value = engineType === "JSON" ? `(${expression})::VARCHAR` : expression;
	const isCounted = isUnfitSql(column, columns, found);
	const copied = { name, type, value, isBody, isCounted };
	// Only these escapes, numbers and many levels can make a JSON text unfit; looking for them is quicker than reading all texts.
	if (type === "jsonb")
		return {
			...copied,
			isUnfit: `(regexp_matches(${value}, ${suspicious}) OR ${mayBeDeeper(value, jsonbLimits)}) AND ${jsonFitsFunction}(${value}, '') <> '='`,
		};
	if (engineType === "VARCHAR" && !isBody)
		return { ...copied, isUnfit: `contains(${value}, chr(0))` };
	return { ...copied, isUnfit: undefined };
}

/** In a JSON text: an escape of half a surrogate pair or of NUL, or a number with an exponent or very long. */
const suspicious = String.raw`'(?i)\\u(?:0000|d[89a-f])|[0-9.]e[+-]?[0-9]{3}|[0-9]{1000}'`;

/**
 * jsonb refuses \u0000 (postgresql.org/docs/current/datatype-json.html), numbers beyond numeric (datatype-numeric.html), and texts as
 * deep as the server's stack: with the default max_stack_depth of 2 MB about 6,000 levels, of which we leave room.
 */
export const jsonbLimits: JsonLimits = {
	maxDepth: 1_000,
	takesNul: false,
	takesNumber: numberFits,
};

/** numeric has up to 131,072 digits before the point and 16,383 after it. */
function numberFits(number: string): boolean {
	if (number.length < 1_000 && !/[eE]/.test(number)) return true;
	const [, whole = "", fraction = "", exponent = "0"] =
		/^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(number) ?? [];
	const shift = Number(exponent);
	if (fraction.length - shift > 16_383) return false;
	const digits = whole === "0" ? 0 : whole.length;
	return digits + shift <= 131_072 && Math.abs(shift) < 131_072;
}

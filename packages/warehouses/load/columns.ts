import type { BodyColumnType, TableColumn } from "../../contracts/job.ts";
import { parquetRows, quoteName, quoteText } from "../../duckdb/quoting.ts";

/** A column of a DuckDB table, and the expression that fills it from the rows of {@link eventRows}. */
export interface ColumnSql {
	name: string;
	type: string;
	expression: string;
}

/**
 * Event ids are text, as in other warehouses and in the sender's logs. Timestamps are instants, so that comparing one
 * with now() is right in any session's time zone.
 * @param columns All columns of the rows.
 */
export function columnSql(
	column: TableColumn,
	columns: readonly TableColumn[] = [column],
): ColumnSql {
	const { name, from } = column;
	switch (from) {
		case "EventID":
			return { name, type: "VARCHAR", expression: "event_id::VARCHAR" };
		case "Timestamp":
			return {
				name,
				type: "TIMESTAMP WITH TIME ZONE",
				expression: `${quoteName("timestamp")}::TIMESTAMPTZ`,
			};
		case "Body":
			return { name, type: "VARCHAR", expression: "body" };
		case "Date":
			return {
				name,
				type: "DATE",
				expression: `${quoteName("date")}::DATE`,
			};
		case "Violations":
			return {
				name,
				type: "VARCHAR",
				// As JSON, so that the quotation marks are none of a text. Without violations, only the plan is there.
				expression: `CASE WHEN contains(violations, '"violations":') THEN violations END`,
			};
		default: {
			if ("bodyPointer" in from) {
				const number = bodyColumnsOf(columns).indexOf(column as never);
				const { type, value } = bodyValueSql(from, number);
				return { name, type, expression: value };
			}
			return {
				name,
				type: "VARCHAR",
				// An object holds the captured headers as one JSON object, or nothing.
				expression: readable(
					"headers",
					`json_extract_string(nullif(headers, ''), ${quoteText(`$."${from.header}"`)})`,
				),
			};
		}
	}
}

/** A value of the body as a column of a DuckDB table, by expressions over the rows of {@link eventRows}. */
interface BodyValueSql {
	type: string;
	/** NULL where there is nothing, JSON's null, or nothing of the type. */
	value: string;
	/** Whether the body has a value there, and it isn't one of the type. */
	isUnfit: string;
}

type BodyColumn = { bodyPointer: string; type: BodyColumnType };

/** The columns whose values come from the body, in the order in which {@link eventRows} has them. */
export function bodyColumnsOf(
	columns: readonly TableColumn[],
): (TableColumn & { from: BodyColumn })[] {
	return columns.filter((column) => {
		const { from } = column;
		return typeof from === "object" && "bodyPointer" in from;
	}) as (TableColumn & { from: BodyColumn })[];
}

/** The rows of objects, as a table to select these columns from. */
export function eventRows(
	files: string[],
	columns: readonly TableColumn[],
): string {
	const rows = parquetRows(files);
	const pointers = bodyColumnsOf(columns).map(({ from }) => from.bodyPointer);
	if (pointers.length === 0) return rows;
	const list = `[${pointers.map(quoteText).join(", ")}]`;
	// All values at once: to read a body for each takes twice as long.
	const texts = readable("body", `json_extract_string(body, ${list})`);
	return `(SELECT *, ${texts} AS body_texts FROM ${rows})`;
}

/**
 * NULL for JSON that DuckDB can't read, where it would throw: a string with half of a surrogate pair is valid by RFC 8259
 * §8.2. To expect the error costs more than to look for the escape that it takes.
 */
function readable(json: string, values: string): string {
	const mayThrow = String.raw`contains(${json}, '\ud') OR contains(${json}, '\uD')`;
	return String.raw`CASE WHEN NOT contains(${json}, '\u') THEN ${values} WHEN ${mayThrow} THEN TRY(${values}) ELSE ${values} END`;
}

/** @param number The column's place among those of the body, from 0. */
export function bodyValueSql(
	{ type, bodyPointer }: BodyColumn,
	number: number,
): BodyValueSql {
	// A string itself, or the JSON text of any other value.
	const text = `body_texts[${number + 1}]`;
	const { type: sqlType, value } = sqlOf[type](text, quoteText(bodyPointer));
	return {
		type: sqlType,
		value,
		isUnfit: `(body_texts IS NULL OR ${text} IS NOT NULL) AND (${value}) IS NULL`,
	};
}

const numberForm = String.raw`-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?`;
const dateForm = String.raw`\d{4}-\d\d-\d\d`;
/** RFC 3339 §5.6: always with an offset. */
const timeForm = String.raw`${dateForm}[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`;

/**
 * Forms send nothing but strings, so a string that holds a value of the type counts as that value. Years
 * are those that every warehouse has: 1 to 9999.
 */
const sqlOf: Record<
	BodyColumnType,
	(text: string, pointer: string) => { type: string; value: string }
> = {
	String: (text, pointer) => ({
		type: "VARCHAR",
		value:
			`CASE WHEN ${text} IS NULL THEN NULL WHEN left(${text}, 1) NOT IN ('{', '[') THEN ${text}` +
			` WHEN json_type(body, ${pointer}) = 'VARCHAR' THEN ${text} END`,
	}),
	Integer: (text) => ({
		type: "BIGINT",
		// JSON Schema counts 1.0 as an integer. DuckDB would round others.
		value:
			`CASE WHEN regexp_full_match(${text}, '-?(0|[1-9]\\d*)') THEN TRY_CAST(${text} AS BIGINT)` +
			` WHEN regexp_full_match(${text}, '${numberForm}') AND abs(TRY_CAST(${text} AS DOUBLE)) <= ${Number.MAX_SAFE_INTEGER}` +
			` AND trunc(TRY_CAST(${text} AS DOUBLE)) = TRY_CAST(${text} AS DOUBLE)` +
			` THEN TRY_CAST(TRY_CAST(${text} AS DOUBLE) AS BIGINT) END`,
	}),
	Number: (text) => ({
		type: "DOUBLE",
		value: `CASE WHEN regexp_full_match(${text}, '${numberForm}') AND isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) END`,
	}),
	Boolean: (text) => ({
		type: "BOOLEAN",
		value: `CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`,
	}),
	Timestamp: (text) => ({
		type: "TIMESTAMP WITH TIME ZONE",
		value:
			`CASE WHEN regexp_full_match(${text}, '${timeForm}') AND TRY_CAST(upper(${text}) AS TIMESTAMPTZ)` +
			` BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'` +
			` THEN TRY_CAST(upper(${text}) AS TIMESTAMPTZ) END`,
	}),
	Date: (text) => ({
		type: "DATE",
		value: `CASE WHEN regexp_full_match(${text}, '${dateForm}') AND ${text} >= '0001' THEN TRY_CAST(${text} AS DATE) END`,
	}),
	JSON: (text, pointer) => ({
		type: "JSON",
		value: `CASE WHEN ${text} IS NOT NULL THEN json_extract(body, ${pointer}) END`,
	}),
};

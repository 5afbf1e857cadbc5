import type { BodyColumnType, TableColumn } from "../../contracts/job.ts";
import { parquetRows, quoteName, quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { bodyValues } from "./body-values.ts";

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

/** Lets SQL call what {@link eventRows} calls for bodies of which DuckDB's own functions would change a value. */
export function defineBodyValues(session: Pick<Session, "define">): void {
	session.define("body_values", bodyValues);
}

/**
 * The rows of objects, as a table to select these columns from. If one of them comes from the body, the session has had
 * {@link defineBodyValues}.
 */
export function eventRows(
	files: string[],
	columns: readonly TableColumn[],
): string {
	const rows = parquetRows(files);
	const places = bodyColumnsOf(columns).map(({ from }) => from);
	if (places.length === 0) return rows;
	const pointers = places.map(({ bodyPointer }) => quoteText(bodyPointer));
	// All values at once: to read a body for each takes twice as long.
	const texts = readable(
		"body",
		`json_extract_string(body, [${pointers.join(", ")}])`,
	);
	const read = quoteText(
		JSON.stringify(
			places.map(({ bodyPointer, type }) => ({ bodyPointer, type })),
		),
	);
	const paths = places.map((_, index) => `'$[${index}]'`);
	return (
		`(SELECT * EXCLUDE (texts), CASE WHEN tagged IS NULL THEN texts` +
		` ELSE list_transform(tagged, lambda t: CASE WHEN left(t, 1) <> '!' THEN substr(t, 2) END) END AS body_texts` +
		` FROM (SELECT *, CASE WHEN ${isOdd(places)} THEN json_extract_string(body_values(body, ${read}), [${paths.join(", ")}]) END AS tagged` +
		` FROM (SELECT *, ${texts} AS texts FROM ${rows})))`
	);
}

/** Whether DuckDB can't read the body, or would give another value than the one that was written last. */
function isOdd(places: readonly BodyColumn[]): string {
	const changed = places.flatMap(({ type }, index) => {
		const found = changes[type];
		return found ? [found(`texts[${index + 1}]`)] : [];
	});
	return ["texts IS NULL", repeats(places), ...changed].join(" OR ");
}

/**
 * By the text that DuckDB gives. It reads a number with a fraction or an exponent into 53 bits, and writes it with a point; -0 becomes
 * 0.
 */
const changes: Partial<Record<BodyColumnType, (text: string) => string>> = {
	String: (text) =>
		`${isFraction(text)} OR coalesce(${text} = '0' AND contains(body, '-0'), false)`,
	Integer: isFraction,
	JSON: (text) =>
		`coalesce(regexp_matches(${text}, '\\d[.eE]|\\b0\\b') AND regexp_matches(body, '\\d[.eE]|-0'), false)`,
};

function isFraction(text: string): string {
	return `coalesce(regexp_matches(${text}, '^-?\\d+[.eE]'), false)`;
}

/** Whether a member on the way to a place stands twice. */
function repeats(places: readonly BodyColumn[]): string {
	const ways = places.map(({ bodyPointer }) => bodyPointer.split("/"));
	const objects = ways.flatMap((tokens) =>
		tokens.slice(1).map((_, depth) => tokens.slice(0, depth + 1).join("/")),
	);
	const names = ways.flatMap((tokens) =>
		tokens
			.slice(1)
			.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~")),
	);
	if (names.length === 0) return "false";
	const list = (texts: readonly string[]) =>
		[...new Set(texts)].map(quoteText).join(", ");
	const keys = readable("body", `json_keys(body, [${list(objects)}])`);
	const onTheWay = `list_filter(k, lambda n: n IN (${list(names)}))`;
	return (
		`coalesce(list_bool_or(list_transform(${keys},` +
		` lambda k: len(${onTheWay}) > len(list_distinct(${onTheWay})))), false)`
	);
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
	const tag = `left(tagged[${number + 1}], 1)`;
	return {
		type: sqlType,
		value,
		isUnfit: `CASE WHEN tagged IS NULL THEN ${text} IS NOT NULL AND (${value}) IS NULL ELSE ${tag} IS NOT NULL AND (${tag} <> '=' OR (${value}) IS NULL) END`,
	};
}

const numberForm = String.raw`-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?`;
const dateForm = String.raw`\d{4}-\d\d-\d\d`;
/** RFC 3339 §5.6, always with an offset; and ISO 8601's 24:00 and offsets without a colon or minutes, which senders write. */
const timeForm = String.raw`${dateForm}[Tt ](([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?|24:00:00(\.0+)?)([Zz]|[+-]\d\d(:?\d\d)?)`;

/** Of a text of {@link timeForm}: second 60 is the next minute's first, and 24:00 the next day's 00:00. */
function instantOf(text: string): string {
	const offset = String.raw`regexp_replace(regexp_replace(upper(${text}), '([+-]\d\d)(\d\d)$', '\1:\2'), '([+-]\d\d)$', '\1:00')`;
	const clock = String.raw`regexp_replace(regexp_replace(${offset}, '^(.{10}).24', '\1T00'), '^(.{17})60', '\159')`;
	return (
		`TRY(TRY_CAST(${clock} AS TIMESTAMPTZ) + CASE WHEN substr(${text}, 12, 2) = '24' THEN INTERVAL 24 HOURS` +
		` WHEN substr(${text}, 18, 2) = '60' THEN INTERVAL 1 SECOND ELSE INTERVAL 0 SECOND END)`
	);
}

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
			`CASE WHEN ${text} IS NULL THEN NULL WHEN tagged IS NOT NULL OR left(${text}, 1) NOT IN ('{', '[') THEN ${text}` +
			` WHEN json_type(body, ${pointer}) = 'VARCHAR' THEN ${text} END`,
	}),
	Integer: (text) => ({
		type: "BIGINT",
		// JSON Schema counts 1.0 as an integer.
		value: `CASE WHEN regexp_full_match(${text}, '-?(0|[1-9]\\d*)(\\.0+)?') THEN TRY_CAST(split_part(${text}, '.', 1) AS BIGINT) END`,
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
			`CASE WHEN regexp_full_match(${text}, '${timeForm}') AND ${instantOf(text)}` +
			` BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'` +
			` THEN ${instantOf(text)} END`,
	}),
	Date: (text) => ({
		type: "DATE",
		value: `CASE WHEN regexp_full_match(${text}, '${dateForm}') AND ${text} >= '0001' THEN TRY_CAST(${text} AS DATE) END`,
	}),
	JSON: (text, pointer) => ({
		type: "JSON",
		value: `CASE WHEN tagged IS NOT NULL THEN TRY_CAST(${text} AS JSON) WHEN ${text} IS NOT NULL THEN json_extract(body, ${pointer}) END`,
	}),
};

import type { BodyColumnType, TableColumn } from "../../contracts/job.ts";
import { vectorRows } from "../../duckdb/memory.ts";
import { parquetRows, quoteName, quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { columnWords } from "../definition/definition.ts";
import { isRest } from "./body-value.ts";
import {
	type BodyColumn,
	bodyValuesFunction,
	formValuesFunction,
	headerValueFunction,
} from "./body-values.ts";
import type { DayObject } from "./load-day.ts";
import type { TableMark } from "./table-mark.ts";

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
 * @param found Where the value of a column from the body is, if elsewhere than the rows have it.
 */
export function columnSql(
	column: TableColumn,
	columns: readonly TableColumn[] = [column],
	found?: string,
): ColumnSql {
	const { name, from, value } = column;
	const written = value === undefined ? "NULL" : quoteText(value);
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
		case "LoadedAt":
			return {
				name,
				type: "TIMESTAMP WITH TIME ZONE",
				expression: `${written}::TIMESTAMPTZ`,
			};
		case "Run":
			return { name, type: "VARCHAR", expression: `${written}::VARCHAR` };
		default: {
			if ("bodyPointer" in from) {
				const number = bodyColumnsOf(columns).indexOf(column as never);
				const { type, value } = bodyValueSql(from, found ?? number);
				return { name, type, expression: value };
			}
			return {
				name,
				type: "VARCHAR",
				expression: headerSql(from.header).value,
			};
		}
	}
}

/** The columns without what differs from Run to Run or only describes them: by them a record knows how rows were filled. */
export function asFilled(columns: readonly TableColumn[]): TableColumn[] {
	return columns.map(
		({ value: _, description: __, isFound: ___, ...column }) => column,
	);
}

/** A value of the body as a column of a DuckDB table, by expressions over the rows of {@link eventRows}. */
interface BodyValueSql {
	type: string;
	/** NULL where there is nothing, JSON's null, or nothing of the type. */
	value: string;
	/** Whether the body has any value there, and no null. */
	isPresent: string;
	/** Whether the body has a value there that isn't one of the type, or that programs read differently. */
	isUnfit: string;
}

/** The columns whose values come from the body, in the order in which {@link eventRows} has them. */
export function bodyColumnsOf(
	columns: readonly TableColumn[],
): (TableColumn & { from: BodyColumn })[] {
	return columns.filter((column) => {
		const { from } = column;
		return typeof from === "object" && "bodyPointer" in from;
	}) as (TableColumn & { from: BodyColumn })[];
}

/** A file of events. Its size is known once it is checked. */
export type SizedFile = Pick<DayObject, "file" | "bodyBytes"> &
	Partial<Pick<DayObject, "rows" | "groupRows">>;

/**
 * The rows of objects, as a table to select these columns from. The empty fields of forms are missing ones, unless `valuesOf` says else. With columns from the body or headers, the session needs
 * {@link file://./body-values.ts defineBodyValues}.
 */
export function eventRows(
	files: readonly SizedFile[],
	columns: readonly TableColumn[],
	valuesOf = valuesByKind,
): string {
	const fromBody = bodyColumnsOf(columns).map(({ from }) => from);
	const parts = partsOf(fromBody.length, files);
	const rows = rowsInParts(
		files.map(({ file }) => file),
		parts,
	);
	if (fromBody.length === 0) return rows;
	const values = valuesOf(fromBody);
	const paths = fromBody.map((_, number) => `'$[${number}]'`).join(", ");
	return `(SELECT *, json_extract_string(${values}, [${paths}]) AS body_values FROM ${rows})`;
}

function valuesByKind(columns: readonly BodyColumn[]): string {
	const all = valuesOfJson(columns);
	if (columns.every((from) => from.type === "String" && !isRest(from)))
		return all;
	return `CASE WHEN kind = 'form' THEN ${valuesOfJson(columns, formValuesFunction)} ELSE ${all} END`;
}

/** The values of a body, whatever it was sent as. */
export function valuesOfJson(
	columns: readonly BodyColumn[],
	called = bodyValuesFunction,
): string {
	return `${called}(body, ${quoteText(JSON.stringify(columns))})`;
}

/**
 * Whether DuckDB shall fill the columns by one thread: a thread has several vectors for each, of 2,048 rows however few come, which
 * count in no `memory_limit`.
 */
export function areWide(columns: readonly TableColumn[]): boolean {
	return partsOf(bodyColumnsOf(columns).length, []) > 1;
}

/** With so many columns, short values of 2,048 rows fit into the memory that a load has, and with twice as many they don't. */
const columnsOfWholeVectors = 100;

/** Of the bodies whose values are in memory at once, each several times. Archive's groups of rows have no more. */
const chunkBytes = 4 * 1024 ** 2;

function partsOf(columns: number, files: readonly SizedFile[]): number {
	if (columns === 0) return 1;
	const byBytes = areLarge(files)
		? Math.ceil((bytesOfRow(files) * vectorRows) / chunkBytes)
		: 1;
	const byColumns = Math.ceil(columns / columnsOfWholeVectors);
	return Math.min(vectorRows, Math.max(byBytes, byColumns));
}

/** The mean of a body in the file of which it is the largest. */
function bytesOfRow(files: readonly SizedFile[]): number {
	return Math.max(
		0,
		...files.map(({ rows, bodyBytes = 0 }) => (rows ? bodyBytes / rows : 0)),
	);
}

/**
 * Whether DuckDB shall handle the files by one thread, since a vector of their rows has more bytes than {@link chunkBytes}. A vector has
 * no more rows than its group, and compaction makes such groups.
 */
export function areLarge(files: readonly SizedFile[]): boolean {
	return files.some((file) => {
		const { groupRows = vectorRows } = file;
		return bytesOfRow([file]) * Math.min(vectorRows, groupRows) > chunkBytes;
	});
}

/**
 * Whether DuckDB shall write the rows by one thread: each has a group of them in memory, and copies of it in pages. Of a body's parts that
 * columns have, few are in each other.
 */
export function areWrittenAlone(
	files: readonly SizedFile[],
	columns: readonly TableColumn[],
): boolean {
	const texts = bodyColumnsOf(columns).filter(({ from }) =>
		/^(String|JSON)$/.test(from.type),
	);
	const bodies = 1 + Math.min(2, texts.length);
	return bytesOfRow(files) * bodies > longRowBytes;
}

const longRowBytes = 5 * 1024;

/** Leaves a session that is about to write the rows one thread, if {@link areWrittenAlone}. */
export async function limitWriters(
	session: Session,
	files: readonly SizedFile[],
	columns: readonly TableColumn[],
): Promise<void> {
	if (areWrittenAlone(files, columns)) await session.run("SET threads = 1");
}

/**
 * The rows of files in chunks of an nth of 2,048, since all values of a chunk are in memory several times. DuckDB has no setting
 * for that, but hands on what a filter leaves of a chunk: here a chunk has each row n times, of which one stays. No text is copied.
 */
function rowsInParts(files: string[], parts: number): string {
	const rows = parquetRows(files);
	if (parts === 1) return rows;
	const times = `unnest([1${", 0".repeat(parts - 1)}])`;
	return `(SELECT * EXCLUDE (part) FROM (SELECT *, ${times} AS part FROM ${rows}) WHERE part = 1)`;
}

/** The columns whose values come from captured headers. */
export function headerColumnsOf(
	columns: readonly TableColumn[],
): (TableColumn & { from: { header: string } })[] {
	return columns.filter(
		({ from }) => typeof from === "object" && "header" in from,
	) as (TableColumn & { from: { header: string } })[];
}

/**
 * A captured header. An object holds all of an event as one JSON object, or nothing. DuckDB reads none of a JSON text with half of a
 * surrogate pair, which is valid by RFC 8259 §8.2: such texts are read by {@link headerValueFunction}. Calling it for all costs
 * more than to look for the escape that it takes.
 */
export function headerSql(header: string): Omit<BodyValueSql, "type"> {
	const isOdd = String.raw`contains(headers, '\ud') OR contains(headers, '\uD')`;
	const own = `${headerValueFunction}(headers, ${quoteText(header)})`;
	const value = `CASE WHEN ${isOdd} THEN CASE WHEN ${own} <> '?' THEN substr(${own}, 2) END ELSE json_extract_string(nullif(headers, ''), ${quoteText(`$."${header}"`)}) END`;
	return {
		value,
		isPresent: `(${value}) IS NOT NULL`,
		isUnfit: `(${isOdd}) AND left(${own}, 1) = '!'`,
	};
}

/** Whether a value isn't one of its column's type, whatever the warehouse holds of it; undefined for columns without such values. */
export function isUnfitSql(
	{ from }: TableColumn,
	columns: readonly TableColumn[],
	found?: string,
): string | undefined {
	if (typeof from !== "object") return undefined;
	if (!("bodyPointer" in from)) return headerSql(from.header).isUnfit;
	const number = bodyColumnsOf(columns).findIndex(
		(column) => column.from === from,
	);
	return bodyValueSql(from, found ?? number).isUnfit;
}

/** @param at The column's place among those of the body, from 0, or where else its value is. */
export function bodyValueSql(
	column: BodyColumn,
	at: number | string,
): BodyValueSql {
	const found = typeof at === "number" ? `body_values[${at + 1}]` : at;
	const type = sqlTypeOf(column);
	const text = `CASE WHEN ${found} <> '?' THEN substr(${found}, 2) END`;
	const value =
		type === "VARCHAR" || type === "JSON"
			? text
			: `TRY_CAST(${text} AS ${type})`;
	return {
		type,
		value: type === "JSON" ? `(${text})::JSON` : value,
		isPresent: `${found} IS NOT NULL`,
		isUnfit: `${found} IS NOT NULL AND (left(${found}, 1) <> '=' OR (${value}) IS NULL)`,
	};
}

function sqlTypeOf(column: BodyColumn): string {
	return column.type === "Decimal"
		? `DECIMAL(${column.precision},${column.scale})`
		: sqlTypes[column.type];
}

const sqlTypes: Record<Exclude<BodyColumnType, "Decimal">, string> = {
	String: "VARCHAR",
	Integer: "BIGINT",
	Number: "DOUBLE",
	Boolean: "BOOLEAN",
	Timestamp: "TIMESTAMP WITH TIME ZONE",
	Date: "DATE",
	JSON: "JSON",
};

/**
 * The comment on a table: words for people, who may change them, and load's mark as its last line. It goes with the table
 * when the table is dropped or replaced, and changes in the same transaction as the rows.
 */
export interface TableComment<Mark = TableMark> {
	words: string;
	mark?: Mark;
}

const prefix = "\ntidemill: ";

export function readComment<Mark = TableMark>(
	comment: string,
): TableComment<Mark> {
	const at = comment.lastIndexOf(prefix);
	if (at < 0) return { words: comment };
	const words = comment.slice(0, at);
	try {
		const mark = JSON.parse(comment.slice(at + prefix.length)) as Mark;
		return { words, mark };
	} catch {
		// Somebody edited the line. The whole window is loaded again.
		return { words };
	}
}

export function writeComment(words: string, mark: object): string {
	return `${words}${prefix}${JSON.stringify(mark)}`;
}

/** A comment on a column that a load writes. */
export interface ColumnComment {
	name: string;
	comment: string;
}

/**
 * The comments that the columns lack: where there is none, or one of a load that isn't true any more. What people have written
 * stays. A table that has them all needs no statement.
 * @param existing The table's columns; empty for a new table.
 */
export function missingComments(
	columns: readonly TableColumn[],
	existing: readonly { name: string; comment?: string | null }[] = [],
): ColumnComment[] {
	const present = new Map(
		existing.map(({ name, comment }) => [name.toLowerCase(), comment]),
	);
	return columns.flatMap((column) => {
		const comment = column.description ?? columnWords(column);
		const found = present.get(column.name.toLowerCase());
		return found === comment || (found && !isOfLoad(found))
			? []
			: [{ name: column.name, comment }];
	});
}

/** For a table that is made anew: those that people have written, and load's for the other columns. */
export function allComments(
	columns: readonly TableColumn[],
	existing: readonly { name: string; comment?: string | null }[] = [],
): ColumnComment[] {
	const missing = missingComments(columns, existing);
	return columns.map(
		({ name }) =>
			missing.find((comment) => comment.name === name) ?? {
				name,
				comment: existing.find(
					(column) => column.name.toLowerCase() === name.toLowerCase(),
				)!.comment!,
			},
	);
}

/** Whether load writes such a comment on a column whose values may come from elsewhere later. */
function isOfLoad(comment: string): boolean {
	return /^(\/.* of the body, as \w+\. NULL if it is missing or doesn't fit\.|The (header|query parameter) .* of the request\.)$/s.test(
		comment,
	);
}

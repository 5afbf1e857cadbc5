import type { TableColumn } from "../../contracts/job.ts";
import { quoteName } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { defineBodyValues } from "./body-values.ts";
import {
	bodyColumnsOf,
	columnSql,
	eventRows,
	headerColumnsOf,
	isUnfitSql,
	type SizedFile,
} from "./columns.ts";
import type { LoadDay, UnfitRows } from "./load-day.ts";

/** Values that fit their column's type, and that a warehouse can't hold all the same. */
export interface UnheldValues {
	column: TableColumn;
	/**
	 * By SQL over the rows of {@link eventRows}. Not met by a value that doesn't fit its type.
	 * @param found Where the value of a column from the body is, if elsewhere than the rows have it.
	 */
	condition(found?: string): string;
	/** A sentence. */
	reason: string;
}

/** Whether a table may lack values of its rows. */
export function mayBeUnfit(
	columns: readonly TableColumn[],
	unheld: readonly UnheldValues[],
): boolean {
	return (
		bodyColumnsOf(columns).length +
			headerColumnsOf(columns).length +
			unheld.length >
		0
	);
}

/**
 * Counts the values in files that don't fit their columns: they aren't of the type, or the warehouse can't hold them.
 * @param unheld The session has the functions that these need.
 */
export async function countUnfit(
	columns: readonly TableColumn[],
	unheld: readonly UnheldValues[],
	files: readonly SizedFile[],
	session: Session,
): Promise<UnfitRows> {
	if (!mayBeUnfit(columns, unheld) || files.length === 0) return {};
	defineBodyValues(session);
	const conditionsOf = (column: TableColumn, found?: string) => [
		...[isUnfitSql(column, columns, found) ?? []].flat(),
		...unheld
			.filter((one) => one.column.name === column.name)
			.map(({ condition }) => condition(found)),
	];
	const isAny = (conditions: string[]) =>
		conditions.map((condition) => `(${condition})`).join(" OR ");
	const fromBody = await countValues(columns, files, session, (column, found) =>
		isAny(conditionsOf(column, found)),
	);
	const typed = headerColumnsOf(columns).map(({ name }) => name);
	const own = columns.flatMap((column) => {
		const { name, from } = column;
		const isOfBody = typeof from === "object" && "bodyPointer" in from;
		const conditions = isOfBody ? [] : conditionsOf(column);
		if (conditions.length === 0) return [];
		const isPresent = `(${columnSql(column, columns).expression}) IS NOT NULL`;
		return [{ name, isPresent, isUnfit: isAny(conditions) }];
	});
	const counts = await countOwnValues(own, files, session);
	// What has no type is in no table's record unless the warehouse can't hold it.
	const others = Object.entries(counts).filter(
		([name, { rows }]) => rows > 0 || typed.includes(name),
	);
	return { ...fromBody, ...Object.fromEntries(others) };
}

/**
 * Counts the values of columns from the body, and the rows among them with a value of which `isUnfit`, by the columns' names. Each value is a
 * row of the query, so that this is as short for 500 columns as for one: DuckDB's time to plan grows by the square of the columns.
 * @param isUnfit SQL's condition, where `found` is the column's value as the rows of {@link eventRows} have it.
 */
async function countValues(
	columns: readonly TableColumn[],
	files: readonly SizedFile[],
	session: Session,
	isUnfit: (column: TableColumn, found: string) => string,
): Promise<UnfitRows> {
	const fromBody = bodyColumnsOf(columns);
	const counted = new Map<string, number[]>();
	for (const [number, column] of fromBody.entries()) {
		const condition = isUnfit(column, "found");
		const numbers = counted.get(condition) ?? [];
		counted.set(condition, [...numbers, number]);
	}
	if (counted.size === 0 || files.length === 0) return {};
	const cases = [...counted].map(
		([condition, numbers]) =>
			`WHEN number IN (${numbers.join(", ")}) THEN ${condition}`,
	);
	const numbers = `[${fromBody.map((_, number) => number).join(", ")}]`;
	const counts = await session.rows<{
		number: number;
		values: bigint;
		rows: bigint;
		eventID: string | null;
	}>(
		`SELECT number, count(*) AS "values", count(*) FILTER (is_unfit) AS rows, (max(event_id) FILTER (is_unfit))::VARCHAR AS "eventID"` +
			` FROM (SELECT event_id, number, CASE ${cases.join(" ")} END AS is_unfit` +
			` FROM (SELECT event_id, unnest(body_values) AS found, unnest(${numbers}) AS number FROM ${eventRows(files, columns)})` +
			` WHERE found IS NOT NULL) GROUP BY number ORDER BY number`,
	);
	return Object.fromEntries(
		counts.map(({ number, values, rows, eventID }) => [
			fromBody[number]!.name,
			{
				rows: Number(rows),
				values: Number(values),
				...(eventID !== null && { eventID }),
			},
		]),
	);
}

/**
 * The same of columns whose values the rows of the files have by themselves.
 * @param columns with SQL's conditions of a row that has a value, and of one whose value is unfit.
 */
async function countOwnValues(
	columns: readonly { name: string; isPresent: string; isUnfit: string }[],
	files: readonly SizedFile[],
	session: Session,
): Promise<UnfitRows> {
	if (columns.length === 0 || files.length === 0) return {};
	const counts = columns.map(
		({ name, isPresent, isUnfit }) =>
			`{'rows': count(*) FILTER (${isUnfit}), 'values': count(*) FILTER (${isPresent}), 'eventID': (max(event_id) FILTER (${isUnfit}))::VARCHAR}::JSON::VARCHAR AS ${quoteName(name)}`,
	);
	const [found = {}] = await session.rows<Record<string, string>>(
		`SELECT ${counts.join(", ")} FROM ${eventRows(files, [])}`,
	);
	return Object.fromEntries(
		Object.entries(found).flatMap(([name, json]) => {
			const { eventID, ...count } = JSON.parse(json);
			const example = eventID === null ? {} : { eventID };
			return count.values > 0 ? [[name, { ...count, ...example }]] : [];
		}),
	);
}

/**
 * Which events a warehouse may mean that refuses a row or a value for its size, in sentences without a value. The days' objects are on
 * disk.
 * @param columns Of the table.
 * @param among Names of those that the refusal is about; absent for all.
 */
export async function largestValues(
	days: readonly LoadDay[],
	columns: readonly TableColumn[],
	session: Session,
	among?: readonly string[],
): Promise<string> {
	const files = days.flatMap(({ objects }) => objects);
	const chosen = columns.filter(({ name }) => among?.includes(name) ?? true);
	if (files.length === 0 || chosen.length === 0) return "";
	defineBodyValues(session);
	const sizes = chosen.map((column) => {
		const { name, expression } = columnSql(column, columns);
		return `coalesce(strlen((${expression})::VARCHAR), 0) AS ${quoteName(name)}`;
	});
	const names = chosen.map(({ name }) => quoteName(name));
	const row = names.join(" + ");
	const of = (size: string) =>
		`{'event': arg_max(event_id_of_row, ${size})::VARCHAR, 'bytes': max(${size})}::JSON::VARCHAR`;
	const [found] = await session.rows<Record<string, string>>(
		`SELECT ${of(row)} AS "0", ${names.map((name, index) => `${of(name)} AS "${index + 1}"`).join(", ")}` +
			` FROM (SELECT event_id AS event_id_of_row, ${sizes.join(", ")} FROM ${eventRows(files, columns)})`,
	);
	const [whole, ...values] = Object.entries(found!)
		.sort(([one], [other]) => Number(one) - Number(other))
		.map(([, json]): { event: string; bytes: number } => JSON.parse(json));
	const { index, bytes, event } = values
		.map((value, index) => ({ ...value, index }))
		.reduce((most, value) => (value.bytes > most.bytes ? value : most));
	const value = `The largest value has ${bytes} bytes, in column "${chosen[index]!.name}" of event ${event}.`;
	return among
		? value
		: `The largest row has ${whole!.bytes} bytes as text, that of event ${whole!.event}. ${value}`;
}

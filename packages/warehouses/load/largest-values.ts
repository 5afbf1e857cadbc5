import type { TableColumn } from "../../contracts/job.ts";
import { quoteName } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import { defineBodyValues } from "./body-values.ts";
import { columnSql, eventRows } from "./columns.ts";
import type { LoadDay } from "./load-day.ts";

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

import { rename } from "node:fs/promises";
import { erasedKind } from "../../packages/contracts/manifest.ts";
import { passingParquet } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import {
	type DayObject,
	type LoadDay,
	nameOf,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { TableChanged } from "../../packages/warehouses/load/warehouse.ts";

/** A day without the events that were released from it, if it is one of the quarantine. Its files are on disk. */
export async function withoutReleased(
	apart: LoadDay,
	session: Session,
): Promise<LoadDay> {
	const { released = [] } = apart;
	if (apart.objects.length === 0 || released.length === 0) return apart;
	const left = await withoutEvents(apart.objects, released, session);
	const objects = left.filter(({ rows }) => rows > 0);
	/** They have no rows, and the next Run must know that. */
	const emptied = left.filter(({ rows }) => rows === 0).map(nameOf);
	const { deciding = [] } = apart;
	return {
		...apart,
		rows: rowsOf(objects),
		objects,
		...(emptied.length > 0 && { deciding: [...deciding, ...emptied] }),
	};
}

/**
 * A day's objects without the rows that stay in the table, all of which must be in them. Their files are on disk. Throws
 * {@link TableChanged} otherwise.
 */
export async function withoutHeld(
	{ date, objects, without = [] }: LoadDay,
	table: string,
	session: Session,
): Promise<DayObject[]> {
	if (without.length === 0) return objects;
	const left = await withoutEvents(objects, without, session);
	if (rowsOf(left) === rowsOf(objects) - rowsOf(without)) return left;
	throw new TableChanged(
		table,
		`has events of ${date} that were given early and are in no cut`,
	);
}

/** The objects without the events of others. One that is left without any stays in the list. */
async function withoutEvents(
	objects: readonly DayObject[],
	others: readonly DayObject[],
	session: Session,
): Promise<DayObject[]> {
	const own = parquetRows(others.map(({ file }) => file));
	return withoutRows(
		objects,
		`event_id IN (SELECT event_id FROM ${own})`,
		session,
	);
}

/** The objects without what erasures have left in them. */
export async function withoutErased(
	objects: readonly DayObject[],
	session: Session,
): Promise<DayObject[]> {
	if (objects.length === 0) return [];
	return withoutRows(objects, `kind = ${quoteText(erasedKind)}`, session);
}

/** The objects without the rows of the condition. One that is left without any stays in the list. */
export async function withoutRows(
	objects: readonly DayObject[],
	condition: string,
	session: Session,
): Promise<DayObject[]> {
	const files = objects.map(({ file }) => file);
	const found = await session.rows<{ filename: string; rows: bigint }>(
		`SELECT filename, count(*) AS rows FROM ${parquetRows(files, { filename: true })}` +
			` WHERE ${condition} GROUP BY filename`,
	);
	const rowsIn = new Map(
		found.map(({ filename, rows }) => [filename, Number(rows)]),
	);
	const left: DayObject[] = [];
	for (const object of objects) {
		const rows = object.rows - (rowsIn.get(object.file) ?? 0);
		if (rows === object.rows) {
			left.push(object);
			continue;
		}
		const { bodyBytes = 0 } = object;
		const share = rows / object.rows;
		left.push({ ...object, rows, bodyBytes: Math.ceil(bodyBytes * share) });
		const made = `${object.file}.kept`;
		await session.run(
			`COPY (SELECT * FROM ${parquetRows([object.file])} WHERE NOT coalesce(${condition}, false))` +
				` TO ${quoteText(made)} (${passingParquet})`,
		);
		await rename(made, object.file);
	}
	return left;
}

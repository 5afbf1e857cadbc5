import { rename } from "node:fs/promises";
import { boundedRowGroups } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import {
	type DayObject,
	type LoadDay,
	nameOf,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";

/** A day without the events that were released from it, if it is one of the quarantine. Its files are on disk. */
export async function withoutReleased(
	apart: LoadDay,
	session: Session,
): Promise<LoadDay> {
	const { released = [] } = apart;
	if (apart.objects.length === 0 || released.length === 0) return apart;
	const own = parquetRows(released.map(({ file }) => file));
	const files = apart.objects.map(({ file }) => file);
	const found = await session.rows<{ filename: string; rows: bigint }>(
		`SELECT filename, count(*) AS rows FROM ${parquetRows(files, { filename: true })}` +
			` WHERE event_id IN (SELECT event_id FROM ${own}) GROUP BY filename`,
	);
	const rowsReleased = new Map(
		found.map(({ filename, rows }) => [filename, Number(rows)]),
	);
	const objects: DayObject[] = [];
	/** They have no rows, and the next Run must know that. */
	const emptied: string[] = [];
	for (const object of apart.objects) {
		const rows = object.rows - (rowsReleased.get(object.file) ?? 0);
		if (rows > 0) objects.push({ ...object, rows });
		else emptied.push(nameOf(object));
		if (rows === 0 || rows === object.rows) continue;
		const made = `${object.file}.kept`;
		await session.run(
			`COPY (SELECT * FROM ${parquetRows([object.file])} WHERE event_id NOT IN (SELECT event_id FROM ${own}))` +
				` TO ${quoteText(made)} (FORMAT parquet, ${boundedRowGroups})`,
		);
		await rename(made, object.file);
	}
	const { deciding = [] } = apart;
	return {
		...apart,
		rows: rowsOf(objects),
		objects,
		...(emptied.length > 0 && { deciding: [...deciding, ...emptied] }),
	};
}

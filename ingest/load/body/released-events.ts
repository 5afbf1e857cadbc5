import { rename } from "node:fs/promises";
import { parquetRows, quoteText } from "../../duckdb/quoting.ts";
import type { Session } from "../../duckdb/session.ts";
import type { DayObject, LoadDay } from "../fetch/load-days.ts";

/**
 * A day of the quarantine without the events that were released from it: those are among the day's own events, with the
 * same ids. Both days' files are on disk.
 */
export async function withoutReleased(
	apart: LoadDay,
	day: LoadDay,
	session: Session,
): Promise<LoadDay> {
	if (apart.rows === 0 || day.rows === 0) return apart;
	const own = parquetRows(day.objects.map(({ file }) => file));
	const files = apart.objects.map(({ file }) => file);
	const found = await session.rows<{ filename: string; rows: bigint }>(
		`SELECT filename, count(*) AS rows FROM ${parquetRows(files, { filename: true })}` +
			` WHERE event_id IN (SELECT event_id FROM ${own}) GROUP BY filename`,
	);
	const released = new Map(
		found.map(({ filename, rows }) => [filename, Number(rows)]),
	);
	const objects: DayObject[] = [];
	for (const object of apart.objects) {
		const rows = object.rows - (released.get(object.file) ?? 0);
		if (rows > 0) objects.push({ ...object, rows });
		if (rows === 0 || rows === object.rows) continue;
		const made = `${object.file}.kept`;
		await session.run(
			`COPY (SELECT * FROM ${parquetRows([object.file])} WHERE event_id NOT IN (SELECT event_id FROM ${own}))` +
				` TO ${quoteText(made)} (FORMAT parquet)`,
		);
		await rename(made, object.file);
	}
	return {
		...apart,
		rows: objects.reduce((sum, { rows }) => sum + rows, 0),
		objects,
	};
}

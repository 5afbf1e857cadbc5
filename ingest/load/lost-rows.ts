import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import {
	type RowAccess,
	TableChanged,
} from "../../packages/warehouses/load/warehouse.ts";
import type { ShrinkingDay } from "./shrinking-days.ts";

/** A date of which no record names objects: only the ids of its events tell whether new rows hide that others are lost. */
export interface UnrecordedDate {
	table: string;
	date: UtcDate;
	rows: number;
	left: number;
	/** Of the objects that the date shall have. */
	keys: ReadonlySet<string>;
	/** The ids of its rows before the load, each as JSON. */
	file: string;
}

/** As many ids are read in a few seconds. Of a date with more rows, the numbers alone are compared. */
export const mostCompared = 1_000_000;

/** Writes the ids that the queries find. */
export async function writeIDs(
	read: NonNullable<RowAccess["read"]>,
	queries: readonly string[],
	file: string,
): Promise<void> {
	const lines = async function* () {
		// A column that came later has none in the rows of before.
		for (const query of queries)
			for await (const [id] of read(query))
				if (id) yield `${JSON.stringify({ id })}\n`;
	};
	await pipeline(Readable.from(lines()), createWriteStream(file));
}

/** The table has rows of a date that none of the date's objects has, so it mustn't be replaced. */
export class LostRows extends TableChanged {
	readonly day: ShrinkingDay;

	constructor(day: ShrinkingDay) {
		super(day.table, `has ${day.lost} rows of ${day.date} that no object has`);
		this.day = day;
	}
}

/**
 * Throws {@link LostRows}.
 * @param day with its objects on disk, before any step has left out a row.
 */
export async function requireNoneLost(
	{ objects }: Pick<LoadDay, "objects">,
	unrecorded: readonly UnrecordedDate[],
	session: Session,
): Promise<void> {
	const found = unrecorded.find(({ keys }) =>
		objects.some(({ key }) => keys.has(key)),
	);
	if (!found) return;
	const { file, keys: _, ...day } = found;
	const stored = parquetRows(objects.map((object) => object.file));
	const [lost] = await session.rows<{ rows: bigint }>(
		`SELECT count(*) AS rows FROM read_json(${quoteText(file)}, format = 'newline_delimited', columns = {id: 'VARCHAR'}) AS held` +
			` ANTI JOIN (SELECT event_id::VARCHAR AS id FROM ${stored}) AS stored USING (id)`,
	);
	const rows = Number(lost!.rows);
	if (rows > 0) throw new LostRows({ ...day, gone: [], lost: rows });
}

import { createHash } from "node:crypto";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import { quoteText } from "../../../duckdb/quoting.ts";
import { columnSql, eventRows } from "../../load/columns.ts";
import {
	type LoadDay,
	nameOf,
	type RecordedLoad,
} from "../../load/load-day.ts";
import type { TableMark } from "../../load/table-mark.ts";

/**
 * Which objects the rows of which table and date come from. It changes in the rows' transaction, and stands in a schema of
 * its own, where no Pipeline's table can be. The table's mark names the rows here that are about it. Without them a Run
 * replaces its days.
 */
export const recordTable = "_tidemill.loads";

export const recordDefinition = [
	"CREATE SCHEMA IF NOT EXISTS _tidemill",
	`CREATE TABLE IF NOT EXISTS ${recordTable} (table_name VARCHAR, record VARCHAR, run VARCHAR, date DATE,` +
		` objects VARCHAR[], rows BIGINT, unfit VARCHAR, loaded TIMESTAMPTZ)`,
];

/** What one transaction changes in the record of a table. */
export interface RecordChange {
	/** Everything else about the table is forgotten. */
	record: string | undefined;
	/** Of these dates and those before `before`, what was recorded is forgotten. */
	dates: UtcDate[];
	before: UtcDate;
	loads: (RecordedLoad & { date: UtcDate })[];
}

/** Loads that nobody has looked at for so long are forgotten. Such a day is replaced when a Run comes back to it. */
const recordedDays = 35;

/**
 * The record that the table's mark names, or a new one if that is about another Source, or about columns that were filled
 * in another way; undefined for a full reload, which replaces the table.
 */
export function recordOf(
	{ strategy, table }: Pick<LoadInput, "strategy" | "table">,
	{ sourceKey, run }: Manifest,
	mark: TableMark | undefined,
): string | undefined {
	if (strategy !== "Incremental") return undefined;
	const columns = fingerprint(table.columns, sourceKey);
	return mark?.record?.startsWith(columns) ? mark.record : `${columns}-${run}`;
}

/** Also of the SQL, since a later version may fill the same columns in another way. */
function fingerprint(columns: TableColumn[], sourceKey: string): string {
	const filled = columns.map((column) => columnSql(column, columns));
	return createHash("sha256")
		.update(JSON.stringify([sourceKey, filled, eventRows([], columns)]))
		.digest("hex")
		.slice(0, 16);
}

export function recordChange(
	record: string | undefined,
	{ run, snapshotTime, dates }: Manifest,
	days: LoadDay[],
): RecordChange {
	const changed = days.filter(({ kept }) => !kept || kept.renamed);
	const oldest = addDays(utcDate(Date.parse(snapshotTime)), -recordedDays);
	return {
		record,
		dates: changed.map(({ date }) => date),
		before: [oldest, dates[0]?.date ?? oldest].sort()[0]!,
		loads:
			record === undefined
				? []
				: days
						.flatMap((day) => loadsOf(day, run))
						.filter((load) => load.objects.length > 0),
	};
}

/** What to record about a day: all of it, unless the record of the rows that stay holds. */
function loadsOf(day: LoadDay, run: string): RecordChange["loads"] {
	const { date, rows, objects, kept, deciding = [], unfit = {} } = day;
	const names = objects.map(nameOf);
	if (!kept)
		return [{ date, objects: [...deciding, ...names], rows, unfit, run }];
	const added = { date, objects: names, rows, unfit, run };
	if (!kept.renamed) return [added];
	const { renamed, held: _, ...stay } = kept;
	return [{ ...stay, date, objects: renamed, run: "" }, added];
}

export function recordStatements(
	table: string,
	{ record, dates, before, loads }: RecordChange,
): string[] {
	const list = dates.map((date) => `DATE ${quoteText(date)}`).join(", ");
	const forgotten = [
		...(record === undefined ? ["true"] : [`record <> ${quoteText(record)}`]),
		...(dates.length > 0 ? [`date IN (${list})`] : []),
		`date < DATE ${quoteText(before)}`,
	];
	const values = loads.map(({ date, objects, rows, unfit, run }) =>
		[
			quoteText(table),
			quoteText(record!),
			quoteText(run),
			`DATE ${quoteText(date)}`,
			// One text is parsed sooner than a list of thousands.
			`string_split(${quoteText(objects.join("\n"))}, chr(10))`,
			String(rows),
			Object.keys(unfit).length > 0 ? quoteText(JSON.stringify(unfit)) : "NULL",
			"now()",
		].join(", "),
	);
	return [
		...recordDefinition,
		`DELETE FROM ${recordTable} WHERE lower(table_name) = lower(${quoteText(table)}) AND (${forgotten.join(" OR ")})`,
		...values.map((row) => `INSERT INTO ${recordTable} VALUES (${row})`),
	];
}

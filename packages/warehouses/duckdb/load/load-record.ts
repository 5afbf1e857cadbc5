import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { parquetRows, quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { asFilled, columnSql, eventRows } from "../../load/columns.ts";
import {
	joinedLoad,
	type LoadDay,
	nameOf,
	type RecordedLoad,
	type UnfitCount,
	type UnfitRows,
} from "../../load/load-day.ts";
import { recordNameOf } from "../../load/load-record.ts";
import type { TableMark } from "../../load/table-mark.ts";

/**
 * Which objects the rows of which table and date come from. It changes in the rows' transaction, and stands in a schema of
 * its own, where no Pipeline's table can be. The table's mark names the rows here that are about it. Without them a Run
 * replaces its days.
 */
export const recordTable = "_tidemill.loads";
/**
 * What each of these dates held when its last load had ended. A table of its own: an earlier build, after a rollback, inserts
 * into the other one by the places of its columns.
 */
export const digestTable = "_tidemill.dates";

export const recordDefinition = [
	"CREATE SCHEMA IF NOT EXISTS _tidemill",
	`CREATE TABLE IF NOT EXISTS ${recordTable} (table_name VARCHAR, record VARCHAR, run VARCHAR, date DATE,` +
		` objects VARCHAR[], rows BIGINT, unfit VARCHAR, loaded TIMESTAMPTZ)`,
	`CREATE TABLE IF NOT EXISTS ${digestTable} (table_name VARCHAR, record VARCHAR, date DATE, engine VARCHAR, digest VARCHAR)`,
];

/**
 * An aggregate over rows in any order, which changes if a row is deleted, inserted or changed. A sum, not XOR: a row that stands
 * twice counts twice. DuckDB's hash takes 0.4 s for a million rows of 500 bytes, a tenth of what md5 takes; another version of it
 * may have another hash, so the engine stands beside each digest.
 */
export function digestSql(columns: readonly { name: string }[]): string {
	return `coalesce(sum(hash(${columns.map(({ name }) => quoteName(name)).join(", ")})), 0)::VARCHAR`;
}

/** What one transaction changes in the record of a table. */
export interface RecordChange {
	/** Everything else about the table is forgotten. */
	record: string | undefined;
	/** Of these dates, what was recorded is forgotten. */
	dates: UtcDate[];
	/** The Run's first date: see {@link tidyRecord}. */
	tidiedBefore: UtcDate | undefined;
	loads: (RecordedLoad & { date: UtcDate })[];
	/** Of these dates, what the table holds now is recorded, by these columns. */
	digests: {
		dates: UtcDate[];
		columns: TableColumn[];
		/** Of these dates, `digest` is that of the rows that stay, so only the added ones are read. */
		added: AddedRows[];
	};
}

interface AddedRows {
	date: UtcDate;
	digest: string;
	/** The column of the ids, and the files whose events the rows are. */
	eventID: string;
	files: string[];
}

/** See {@link recordNameOf}. Also of the SQL, since a later version may fill the same columns in another way. */
export function recordOf(
	input: Pick<LoadInput, "strategy" | "table" | "filter">,
	manifest: Pick<Manifest, "sourceKey" | "run">,
	mark: TableMark | undefined,
): string | undefined {
	const columns = asFilled(input.table.columns);
	return recordNameOf(input, manifest, mark, [
		columns.map((column) => columnSql(column, columns)),
		eventRows([], columns),
		digestSql(columns),
	]);
}

export function recordChange(
	record: string | undefined,
	manifest: Manifest,
	days: LoadDay[],
	columns: TableColumn[],
): RecordChange {
	const { run } = manifest;
	const changed = days.filter(({ kept }) => !kept || kept.renamed);
	const eventID = columns.find(({ from }) => from === "EventID")?.name;
	const read = (record === undefined ? [] : days).filter(
		({ kept, objects }) => !kept || objects.length > 0,
	);
	return {
		record,
		dates: changed.map(({ date }) => date),
		tidiedBefore: manifest.dates[0]?.date,
		loads:
			record === undefined
				? []
				: days
						.flatMap((day) => loadsOf(day, run))
						.filter((load) => load.objects.length > 0),
		digests: {
			dates: read.map(({ date }) => date),
			columns,
			added: read.flatMap(({ date, kept, objects }) =>
				kept && eventID !== undefined
					? [
							{
								date,
								digest: kept.held.digest,
								eventID,
								files: objects.map(({ file }) => file),
							},
						]
					: [],
			),
		},
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

/** @param text Records of earlier builds have only a number of rows for a column. */
function recordedUnfit(text: string | null, rows: number): UnfitRows {
	const counts: Record<string, UnfitCount | number> = JSON.parse(text ?? "{}");
	return Object.fromEntries(
		Object.entries(counts).map(([column, count]) => [
			column,
			typeof count === "number" ? { rows: count, values: rows } : count,
		]),
	);
}

export function recordStatements(
	table: string,
	{ record, dates, loads, digests }: RecordChange,
): string[] {
	const forget = (recordTable: string, dates: readonly UtcDate[]) => {
		const forgotten = [
			...(record === undefined ? ["true"] : [`record <> ${quoteText(record)}`]),
			...(dates.length > 0 ? [`date IN (${datesSql(dates)})`] : []),
		];
		return `DELETE FROM ${recordTable} WHERE ${isOf(table)} AND (${forgotten.join(" OR ")})`;
	};
	return [
		...recordDefinition,
		forget(recordTable, dates),
		...loads.map((load) => entry(table, record!, load)),
		forget(digestTable, digests.dates),
		...digestStatements(table, record, digests),
	];
}

function isOf(table: string): string {
	return `lower(table_name) = lower(${quoteText(table)})`;
}

function entry(
	table: string,
	record: string,
	{ date, objects, rows, unfit, run }: RecordChange["loads"][number],
): string {
	const values = [
		quoteText(table),
		quoteText(record),
		quoteText(run),
		`DATE ${quoteText(date)}`,
		// One text is parsed sooner than a list of thousands.
		`string_split(${quoteText(objects.join("\n"))}, chr(10))`,
		String(rows),
		Object.keys(unfit).length > 0 ? quoteText(JSON.stringify(unfit)) : "NULL",
		"now()",
	];
	return `INSERT INTO ${recordTable} VALUES (${values.join(", ")})`;
}

/** What loads say that they have put into dates of a table, where `condition` is met. */
export async function recordedLoads(
	table: string,
	record: string,
	condition: string,
	session: Session,
): Promise<Map<UtcDate, RecordedLoad[]>> {
	const found = await session.rows<{
		date: string;
		objects: string;
		rows: bigint;
		unfit: string | null;
		run: string;
	}>(
		`SELECT date::VARCHAR AS date, array_to_string(objects, chr(10)) AS objects, rows, unfit, run FROM ${recordTable}` +
			` WHERE ${isOf(table)} AND record = ${quoteText(record)} AND ${condition} ORDER BY loaded, run, objects`,
	);
	const byDate = Map.groupBy(found, ({ date }) => date);
	return new Map(
		byDate.entries().map(([date, entries]) => [
			date,
			entries.map(({ objects, rows, unfit, run }) => ({
				objects: objects.split("\n"),
				rows: Number(rows),
				unfit: recordedUnfit(unfit, Number(rows)),
				run,
			})),
		]),
	);
}

/**
 * Makes one entry of those of each date before the Run's: no Run asks any more which of them is whose. So a year of dates takes a row for
 * each, however often somebody ran.
 */
export async function tidyRecord(
	table: string,
	{ record, tidiedBefore }: RecordChange,
	session: Session,
): Promise<void> {
	if (record === undefined || tidiedBefore === undefined) return;
	const several = `date IN (SELECT date FROM ${recordTable} WHERE ${isOf(table)} AND date < DATE ${quoteText(tidiedBefore)} GROUP BY date HAVING count(*) > 1)`;
	const dates = await recordedLoads(table, record, several, session);
	for (const [date, loads] of dates) {
		await session.run(
			`DELETE FROM ${recordTable} WHERE ${isOf(table)} AND date = DATE ${quoteText(date)}`,
		);
		const one = joinedLoad(loads);
		await session.run(entry(table, record, { date, ...one }));
	}
}

function digestStatements(
	table: string,
	record: string | undefined,
	{ dates, columns, added }: RecordChange["digests"],
): string[] {
	if (record === undefined) return [];
	const insert = `INSERT INTO ${digestTable} SELECT ${quoteText(table)}, ${quoteText(record)}`;
	const digests = `${digestSql(columns)} AS digest FROM ${quoteName(table)} WHERE ${quoteName("date")}`;
	const statements = added.map(
		({ date, digest, eventID, files }) =>
			`${insert}, DATE ${quoteText(date)}, version(), (${quoteText(digest)}::HUGEINT + digest::HUGEINT)::VARCHAR` +
			` FROM (SELECT ${digests} = DATE ${quoteText(date)} AND ${ofFiles(eventID, files)})`,
	);
	const whole = dates.filter((day) => !added.some(({ date }) => date === day));
	const list = datesSql(whole);
	// Dates without rows have a digest, too.
	if (whole.length > 0)
		statements.push(
			`${insert}, day, version(), coalesce(digest, '0') FROM unnest([${list}]) AS wanted(day) LEFT JOIN` +
				` (SELECT ${quoteName("date")} AS day, ${digests} IN (${list}) GROUP BY ALL) USING (day)`,
		);
	return statements;
}

/** The condition for a row of the table to be of an event in these files. */
export function ofFiles(eventID: string, files: string[]): string {
	return `${quoteName(eventID)} IN (SELECT event_id::VARCHAR FROM ${parquetRows(files)})`;
}

export function datesSql(dates: readonly UtcDate[]): string {
	return dates.map((date) => `DATE ${quoteText(date)}`).join(", ");
}

import {
	DATE,
	type DuckDBDataChunk,
	type DuckDBDateVector,
	type DuckDBUIntegerVector,
	UINTEGER,
} from "@duckdb/node-api";
import type { TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { dayMs, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import { parquetRows, quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { ColumnSql } from "../../load/columns.ts";
import {
	joinedLoad,
	type LoadDay,
	type RecordedLoad,
} from "../../load/load-day.ts";
import { recordNames, recordOfDay, takenOver } from "../../load/table-plan.ts";

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

/** What one transaction changes in the record of a table. */
export interface RecordChange {
	/** Everything else about the table is forgotten. */
	record: string | undefined;
	/** Whose entries it takes over. */
	former: string | undefined;
	/** Of these dates, what was recorded is forgotten. */
	dates: UtcDate[];
	/** The Run's first date: see {@link tidyRecord}. */
	tidiedBefore: UtcDate | undefined;
	loads: (RecordedLoad & { date: UtcDate })[];
	/** Of these dates, the digest of the rows that stay. To these, the rows come that the load inserts. */
	digests: Map<UtcDate, string>;
}

export function recordChange(
	{ record, former }: Pick<RecordChange, "record" | "former">,
	manifest: Manifest,
	days: LoadDay[],
): RecordChange {
	const { run } = manifest;
	const recorded = record === undefined ? [] : days;
	return {
		record,
		former,
		dates: days
			.filter(({ kept }) => !kept || kept.renamed)
			.map(({ date }) => date),
		tidiedBefore: manifest.dates[0]?.date,
		loads: recorded
			.flatMap((day) => {
				const { stays, added } = recordOfDay(day, run);
				const { date } = day;
				return [stays ?? [], added ?? []]
					.flat()
					.map((load) => ({ ...load, date }));
			})
			.filter((load) => load.objects.length > 0),
		digests: new Map(
			recorded
				.filter(({ kept, objects }) => !kept || objects.length > 0)
				.map(({ date, kept }) => [date, kept?.held.digest ?? "0"]),
		),
	};
}

/** @param written Digests of the rows that the load has inserted. */
export function recordStatements(
	table: string,
	{ record, former, dates, loads, digests }: RecordChange,
	written: ReadonlyMap<UtcDate, bigint>,
): string[] {
	const forget = (recordTable: string, dates: readonly UtcDate[]) => {
		const forgotten = [
			...(record === undefined
				? ["true"]
				: [`record NOT IN (${namesSql(record)})`]),
			...(dates.length > 0 ? [`date IN (${datesSql(dates)})`] : []),
		];
		return `DELETE FROM ${recordTable} WHERE ${isOf(table)} AND (${forgotten.join(" OR ")})`;
	};
	return [
		...recordDefinition,
		...(former === undefined
			? []
			: [
					`UPDATE ${recordTable} SET record = ${quoteText(takenOver(record!))} WHERE ${isOf(table)} AND record IN (${namesSql(former)})`,
				]),
		forget(recordTable, dates),
		...loads.map((load) => entry(table, record!, load)),
		forget(digestTable, [...digests.keys()]),
		...digests.entries().map(([date, kept]) => {
			const digest = BigInt(kept) + (written.get(date) ?? 0n);
			return `INSERT INTO ${digestTable} VALUES (${quoteText(table)}, ${quoteText(record!)}, DATE ${quoteText(date)}, version(), '${digest}')`;
		}),
	];
}

function isOf(table: string): string {
	return `lower(table_name) = lower(${quoteText(table)})`;
}

/** Of its own entries, and of those that it has taken over. */
function namesSql(record: string): string {
	return recordNames(record).map(quoteText).join(", ");
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
				unfit: JSON.parse(unfit ?? "{}"),
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

/** The condition for a row of the table to be of an event in these files. */
export function ofFiles(eventID: string, files: string[]): string {
	return `${quoteName(eventID)} IN (SELECT event_id::VARCHAR FROM ${parquetRows(files)})`;
}

export function datesSql(dates: readonly UtcDate[]): string {
	return dates.map((date) => `DATE ${quoteText(date)}`).join(", ");
}

/**
 * An aggregate over rows in any order, which changes if a row is deleted, inserted or changed. A sum, not XOR: a row that stands
 * twice counts twice. DuckDB's hash takes 0.4 s for a million rows of 500 bytes, a tenth of what md5 takes; another version of it
 * may have another hash, so the engine stands beside each digest.
 */
export function digestSql(columns: readonly { name: string }[]): string {
	return `coalesce(sum(${hashSql(columns)}), 0)::VARCHAR`;
}

function hashSql(columns: readonly { name: string }[]): string {
	return `hash(${columns.map(({ name }) => quoteName(name)).join(", ")})`;
}

let counters = 0;

/**
 * Digests of the rows that a load inserts, by date. They are added up while DuckDB writes the rows: reading these again would
 * take a quarter of the load's time.
 */
export class WrittenRows {
	readonly #digests = new Map<number, bigint>();
	readonly #counter = `tidemill_written_${counters++}`;

	constructor(session: Session) {
		session.register({
			name: this.#counter,
			volatile: true,
			parameterTypes: [UINTEGER, UINTEGER, DATE],
			returnType: DATE,
			mainFunction: (_, rows, dates) =>
				this.#count(rows, dates as DuckDBDateVector),
		});
	}

	/** The query, whose rows are counted as somebody takes them. Its columns are these, with the types of the table's. */
	counting(
		filled: readonly ColumnSql[],
		from: string,
		columns: readonly TableColumn[],
	): string {
		const date = columns.find(({ from }) => from === "Date")!.name;
		const hash = hashSql(filled);
		const counted = `${this.#counter}((${hash} >> 32)::UINTEGER, (${hash} & 4294967295)::UINTEGER, ${quoteName(date)})`;
		const selected = filled.map(({ name }) =>
			name === date ? counted : quoteName(name),
		);
		const values = filled.map(
			({ name, type, expression }) =>
				`(${expression})::${type} AS ${quoteName(name)}`,
		);
		return `SELECT ${selected.join(", ")} FROM (SELECT ${values.join(", ")} FROM ${from})`;
	}

	/** Gives the rows' dates. DuckDB calls it for vectors of rows, in any order. */
	#count(rows: DuckDBDataChunk, given: DuckDBDateVector): void {
		const [high, low] = [0, 1].map(
			(at) => rows.getColumnVector(at) as DuckDBUIntegerVector,
		);
		const dates = rows.getColumnVector(2) as DuckDBDateVector;
		let day: number | undefined;
		let [highs, lows] = [0, 0];
		const add = () => {
			if (day === undefined) return;
			const sum = (BigInt(highs) << 32n) + BigInt(lows);
			this.#digests.set(day, (this.#digests.get(day) ?? 0n) + sum);
		};
		for (let row = 0; row < rows.rowCount; row++) {
			const date = dates.getItem(row);
			given.setItem(row, date);
			if (date?.days !== day) {
				add();
				day = date?.days;
				[highs, lows] = [0, 0];
			}
			highs += high!.getItem(row)!;
			lows += low!.getItem(row)!;
		}
		add();
		given.flush();
	}

	/** By date. Dates without rows are absent. */
	get digests(): ReadonlyMap<UtcDate, bigint> {
		return new Map(
			this.#digests
				.entries()
				.map(([day, digest]) => [utcDate(day * dayMs), digest]),
		);
	}
}

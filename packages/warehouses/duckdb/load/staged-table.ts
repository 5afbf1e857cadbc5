import type { TableColumn } from "../../../contracts/job.ts";
import { vectorRows } from "../../../duckdb/memory.ts";
import { parquetRows, quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { Logger } from "../../../service/log.ts";
import { columnSql, eventRows, type SizedFile } from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import { progressOf } from "../../load/load-table.ts";
import { rowGroupsOf, sliceBytes } from "./large-rows.ts";
import { datesSql, ofFiles, type WrittenRows } from "./load-record.ts";
import type { LoadStep } from "./plan.ts";

/** No Pipeline's table has such a name. In the table's schema, since DuckDB moves no table to another. */
const stagingTable = "_tidemill staging";
const staging = quoteName(stagingTable);

/** DuckDB's own bound of a group. */
const mostGroupRows = 122_880;

/** Removes what a load has left that was killed. */
export async function dropStaged(session: Session): Promise<void> {
	await session.run(`DROP TABLE IF EXISTS ${staging}`);
}

/**
 * Makes the table that {@link publish} puts in place. Each slice is committed and written to the file by itself: after that, DuckDB
 * puts rows into a new group, and a group of few rows takes little memory to write, read and merge.
 */
export async function stage(
	table: string,
	{ days, slices, columns, stay }: Extract<LoadStep, { do: "Stage" }>,
	session: Session,
	log: Logger,
	written: WrittenRows | undefined,
): Promise<void> {
	const { rowsTotal } = progressOf(days, 0);
	const logProgress = (rowsDone: number) =>
		log.info(progressOf(days, rowsDone), "loading days");
	logProgress(0);
	await session.run("SET max_vacuum_tasks = 0");
	if (stay) {
		await session.run(await stagingDefinition(table, session));
		for (const column of stay.added)
			await session.run(
				`ALTER TABLE ${staging} ADD COLUMN ${definition(column)}`,
			);
		if (stay.without !== "All") await copyRows(table, stay.without, session);
	} else await session.run(`CREATE TABLE ${staging} (${definitions(columns)})`);
	let inserted = 0;
	for (const objects of slices) {
		inserted += await session.run(
			insertion(stagingTable, objects, columns, written),
		);
		await session.run("CHECKPOINT");
		logProgress(Math.min(inserted, rowsTotal));
	}
	if (inserted !== rowsTotal)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects gave ${inserted} rows, but the manifest says ${rowsTotal}`,
		);
}

/** With the constraints and defaults that people have given to the table. */
async function stagingDefinition(
	table: string,
	session: Session,
): Promise<string> {
	const [found] = await session.rows<{ sql: string }>(
		`SELECT sql FROM duckdb_tables() WHERE ${isTable(table)}`,
	);
	return found!.sql.replace(
		/^CREATE TABLE (?:(?:"(?:[^"]|"")+"|\w+)\.)*(?:"(?:[^"]|"")+"|\w+)\s*\(/,
		`CREATE TABLE ${staging} (`,
	);
}

async function copyRows(
	table: string,
	without: readonly string[],
	session: Session,
): Promise<void> {
	const name = quoteName(table);
	const kept =
		without.length === 0
			? ""
			: ` AND (${quoteName("date")} IN (${datesSql(without)})) IS NOT TRUE`;
	const [wanted] = await session.rows<{ rows: bigint }>(
		`SELECT count(*) AS rows FROM ${name} WHERE true${kept}`,
	);
	let copied = 0;
	let from = 0;
	for (const { rows, bytes } of await rowGroupsOf(name, session)) {
		const fit = Math.floor(sliceBytes / Math.max(1, bytes / rows));
		const step = fit > vectorRows ? mostGroupRows : Math.max(1, fit);
		for (let at = from; at < from + rows; at += step) {
			const to = Math.min(at + step, from + rows);
			copied += await session.run(
				`INSERT INTO ${staging} BY NAME SELECT * FROM ${name} WHERE rowid >= ${at} AND rowid < ${to}${kept}`,
			);
			await session.run("CHECKPOINT");
		}
		from += rows;
	}
	if (copied !== Number(wanted?.rows))
		throw new Error(
			`${copied} of ${wanted?.rows} rows of table ${table} were copied`,
		);
}

/** Puts the staging table in the table's place, with the indexes and the columns' comments that people have given to it. */
export async function publish(
	table: string,
	{ replaces, keeps }: Extract<LoadStep, { do: "Publish" }>,
	session: Session,
): Promise<void> {
	const name = quoteName(table);
	const kept = keeps ? await keptStatements(table, session) : [];
	if (replaces)
		await session.run(`DROP ${replaces === "view" ? "VIEW" : "TABLE"} ${name}`);
	await session.run(`ALTER TABLE ${staging} RENAME TO ${name}`);
	for (const sql of kept) await session.run(sql);
}

async function keptStatements(
	table: string,
	session: Session,
): Promise<string[]> {
	const indexes = await session.rows<{ sql: string }>(
		`SELECT sql FROM duckdb_indexes() WHERE ${isTable(table)}`,
	);
	const comments = await session.rows<{ column: string; comment: string }>(
		`SELECT column_name AS "column", comment FROM duckdb_columns() WHERE comment IS NOT NULL AND ${isTable(table)}`,
	);
	return [
		...comments.map(
			({ column, comment }) =>
				`COMMENT ON COLUMN ${quoteName(table)}.${quoteName(column)} IS ${quoteText(comment)}`,
		),
		...indexes.map(({ sql }) => sql),
	];
}

function isTable(table: string): string {
	return (
		`database_name = current_database() AND schema_name = current_schema()` +
		` AND lower(table_name) = lower(${quoteText(table)})`
	);
}

/** The SQL statements, in order, of a step that changes the table. */
export function statements(
	table: string,
	step: Exclude<
		LoadStep,
		{
			do: "CheckRows" | "CheckNew" | "Insert" | "Stage" | "Publish" | "Record";
		}
	>,
): string[] {
	const name = quoteName(table);
	switch (step.do) {
		case "CreateTable":
			return [`CREATE TABLE ${name} (${definitions(step.columns)})`];
		case "ReplaceTable":
			return [
				...(step.isView ? [`DROP VIEW ${name}`] : []),
				`CREATE OR REPLACE TABLE ${name} (${definitions(step.columns)})`,
			];
		case "Comment":
			return [`COMMENT ON TABLE ${name} IS ${quoteText(step.text)}`];
		case "CommentColumns":
			return step.comments.map(
				({ name: column, comment }) =>
					`COMMENT ON COLUMN ${name}.${quoteName(column)} IS ${quoteText(comment)}`,
			);
		case "AddColumns":
			return step.columns.map(
				(column) => `ALTER TABLE ${name} ADD COLUMN ${definition(column)}`,
			);
		case "DeleteDay":
			return [`DELETE FROM ${name} WHERE ${onDate(step.date)}`];
		case "DeleteRows":
			return [`DELETE FROM ${name}`];
		case "SkipDictionary":
			return ["SET disabled_compression_methods = 'dictionary'"];
		case "WriteView":
			return [
				`CREATE OR REPLACE VIEW ${quoteName(step.name)} AS ${step.sql}`,
				`COMMENT ON VIEW ${quoteName(step.name)} IS ${quoteText(step.comment)}`,
			];
		case "DropView":
			return [`DROP VIEW ${quoteName(step.name)}`];
	}
}

/**
 * Inserts the rows of these objects.
 * @param written counts them; undefined if nobody asks.
 */
export function insertion(
	table: string,
	objects: readonly SizedFile[],
	columns: TableColumn[],
	written?: WrittenRows,
): string {
	const filled = columns.map((column) => columnSql(column, columns));
	const rows = eventRows(objects, columns);
	const query = written
		? written.counting(filled, rows, columns)
		: `SELECT ${filled.map(({ expression }) => expression).join(", ")} FROM ${rows}`;
	return `INSERT INTO ${quoteName(table)} (${filled.map(({ name }) => quoteName(name)).join(", ")}) ${query}`;
}

/** Of each file. */
const sampledRows = 2_048;

/** A query of one row: how many bodies there are among the first ones of each file, and how many of them `differ`. */
export function bodySample(files: readonly string[]): string {
	const samples = files.map(
		(file) => `(SELECT body FROM ${parquetRows([file])} LIMIT ${sampledRows})`,
	);
	return `SELECT count(*) AS bodies, count(DISTINCT body) AS differ FROM (${samples.join(" UNION ALL ")})`;
}

/** A query of one row with the number of `rows` that the step checks. */
export function rowCount(
	table: string,
	step: Extract<LoadStep, { do: "CheckRows" | "CheckNew" }>,
): string {
	const conditions = step.date ? [onDate(step.date)] : [];
	if (step.do === "CheckNew")
		conditions.push(ofFiles(step.eventID, step.files));
	const where =
		conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
	return `SELECT count(*) AS rows FROM ${quoteName(table)}${where}`;
}

function onDate(date: string): string {
	return `${quoteName("date")} = DATE ${quoteText(date)}`;
}

export function definitions(columns: TableColumn[]): string {
	return columns.map(definition).join(", ");
}

function definition(column: TableColumn): string {
	const { name, type } = columnSql(column);
	return `${quoteName(name)} ${type}`;
}

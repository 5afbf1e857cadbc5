import type { TableColumn } from "../../../contracts/job.ts";
import { parquetRows, quoteName, quoteText } from "../../../duckdb/quoting.ts";
import { columnSql, eventRows, type SizedFile } from "../../load/columns.ts";
import { ofFiles } from "./load-record.ts";
import type { LoadStep } from "./plan.ts";
import type { WrittenRows } from "./row-digest.ts";

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

export function definition(column: TableColumn): string {
	const { name, type } = columnSql(column);
	return `${quoteName(name)} ${type}`;
}

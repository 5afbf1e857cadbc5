import type { TableColumn } from "../../../contracts/job.ts";
import { quoteName, quoteText } from "../../duckdb/quoting.ts";
import { eventRows } from "../body/body-value.ts";
import { columnSql } from "../destination/columns.ts";
import type { LoadStep } from "./plan.ts";

/** The SQL statements, in order, of a step that changes the table. */
export function statements(
	table: string,
	step: Exclude<LoadStep, { do: "CheckRows" }>,
): string[] {
	const name = quoteName(table);
	switch (step.do) {
		case "CreateTable":
			return [`CREATE TABLE ${name} (${definitions(step.columns)})`];
		case "ReplaceTable":
			return [`CREATE OR REPLACE TABLE ${name} (${definitions(step.columns)})`];
		case "Comment":
			return [`COMMENT ON TABLE ${name} IS ${quoteText(step.text)}`];
		case "AddColumns":
			return step.columns.map(
				(column) => `ALTER TABLE ${name} ADD COLUMN ${definition(column)}`,
			);
		case "DeleteDay":
			return [`DELETE FROM ${name} WHERE ${onDate(step.date)}`];
		case "Insert": {
			const columns = step.columns.map((column) =>
				columnSql(column, step.columns),
			);
			return [
				`INSERT INTO ${name} (${columns.map((column) => quoteName(column.name)).join(", ")})` +
					` SELECT ${columns.map(({ expression }) => expression).join(", ")}` +
					` FROM ${eventRows(step.files, step.columns)}`,
			];
		}
	}
}

/** A query of one row: the number of `rows`, and of different event `ids` (of rows, if the table has no event ids). */
export function rowCount(
	table: string,
	step: Extract<LoadStep, { do: "CheckRows" }>,
): string {
	const ids = step.eventID
		? `count(DISTINCT ${quoteName(step.eventID)})`
		: "count(*)";
	const where = step.date ? ` WHERE ${onDate(step.date)}` : "";
	return `SELECT count(*) AS rows, ${ids} AS ids FROM ${quoteName(table)}${where}`;
}

function onDate(date: string): string {
	return `${quoteName("date")} = DATE ${quoteText(date)}`;
}

function definitions(columns: TableColumn[]): string {
	return columns.map(definition).join(", ");
}

function definition(column: TableColumn): string {
	const { name, type } = columnSql(column);
	return `${quoteName(name)} ${type}`;
}

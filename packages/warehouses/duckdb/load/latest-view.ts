import type { LoadInput } from "../../../contracts/job.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { columnSql } from "../../load/columns.ts";
import { latestSql, viewChange, viewMarkIn } from "../../load/latest-view.ts";
import { writeComment } from "../../load/table-comment.ts";
import type { LoadStep } from "./plan.ts";

/** What a load does to the view of the table's latest rows, after all else. Throws what {@link viewChange} throws. */
export async function viewSteps(
	input: LoadInput,
	session: Session,
): Promise<LoadStep[]> {
	const { name: table, columns, latest } = input.table;
	if (!latest) return [];
	const [found] = await session.rows<{ kind: string; comment: string | null }>(
		`SELECT 'view' AS kind, comment FROM duckdb_views() WHERE ${isNamed("view_name", latest.name)}` +
			` UNION ALL SELECT 'table', NULL FROM duckdb_tables() WHERE ${isNamed("table_name", latest.name)}`,
	);
	const { all, key, newest } = latestSql(columns, latest, quoteName);
	const sql =
		`SELECT ${all} FROM ${quoteName(table)}` +
		` QUALIFY row_number() OVER (PARTITION BY ${key} ORDER BY ${newest}) = 1`;
	// DuckDB keeps the types of a view's columns, and refuses to read it when the table has others.
	const types = columns.map((column) => columnSql(column).type);
	const change = viewChange(
		input,
		found && { kind: found.kind, mark: viewMarkIn(found.comment) },
		[sql, types],
	);
	if (!change) return [];
	if (change.do === "Drop") return [{ do: "DropView", name: change.name }];
	const { name, words, mark } = change;
	const comment = writeComment(words, mark);
	return [{ do: "WriteView", name, sql, comment }];
}

function isNamed(column: string, name: string): string {
	return (
		`database_name = current_database() AND schema_name = current_schema()` +
		` AND lower(${column}) = lower(${quoteText(name)})`
	);
}

import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import {
	allComments,
	asFilled,
	type ColumnComment,
	columnSql,
	eventRows,
	missingComments,
	type SizedFile,
	valuesOfJson,
	writeComment,
} from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import { latestSql, viewChange, viewMarkIn } from "../../load/latest-view.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import {
	type CommentedTable,
	type ExistingColumn,
	fits,
	incompatibility,
	planTable,
	type TableType,
	type WantedColumn,
} from "../../load/table-plan.ts";
import { requireSameRows } from "../../load/warehouse.ts";
import { duckDBErrors } from "../definition.ts";
import { sliceBytes, slicesOf } from "./large-rows.ts";
import { digestSql, type RecordChange, recordChange } from "./load-record.ts";

/** What a load does to the table, in order: all in one transaction, but for what ends with a Stage. */
export type LoadStep =
	| { do: "CreateTable"; columns: TableColumn[] }
	/** Creates the table empty, in place of any existing one, which may be a view. */
	| { do: "ReplaceTable"; columns: TableColumn[]; isView?: true }
	| { do: "Comment"; text: string }
	| { do: "CommentColumns"; comments: ColumnComment[] }
	| { do: "AddColumns"; columns: TableColumn[] }
	| { do: "DeleteDay"; date: UtcDate }
	/** All rows go, and the table stays with all that people have given to it. */
	| { do: "DeleteRows" }
	/** The table must not have these files' events on that date yet. */
	| { do: "CheckNew"; date: UtcDate; eventID: string; files: string[] }
	/**
	 * Keeps DuckDB from trying a dictionary for what it compresses, unless bodies of these files repeat. Texts that all differ, as
	 * ids and nearly all bodies do, have no use for one, and trying it takes a fifth of the INSERT's CPU time and a copy of each
	 * row group's bodies. The setting is for all columns at once. A compression in a column's definition would keep people from
	 * copying the table into a file of a later storage version.
	 */
	| { do: "SkipDictionary"; bodiesOf: string[] }
	/**
	 * Inserts exactly the days' rows, in one statement. DuckDB compresses and writes rows in groups of 122,880, and each
	 * thread keeps its last, incomplete group until the transaction ends. Inserted day by day, most of a table would be
	 * spilled to disk and then rewritten by the next checkpoint.
	 */
	| {
			do: "Insert";
			/** Days with events, ascending. */
			days: { date: UtcDate; rows: number }[];
			objects: SizedFile[];
			columns: TableColumn[];
	  }
	/**
	 * Before the transaction, in place of an Insert whose rows don't fit into memory at once: puts them into a staging table, slice
	 * by slice, each in groups of its own. One transaction would put them into one group. See staged-table.ts.
	 */
	| {
			do: "Stage";
			days: { date: UtcDate; rows: number }[];
			slices: SizedFile[][];
			columns: TableColumn[];
			/** Of the table as it is, rows stay: all but those of these dates, or none. Absent if another one takes its place. */
			stay?: { without: UtcDate[] | "All"; added: TableColumn[] };
	  }
	/** The staging table takes the place of the table, if there is one, and `keeps` its indexes and comments. */
	| { do: "Publish"; replaces?: "table" | "view"; keeps?: true }
	/** The table must now have `rows` rows: on `date`, or in all if absent. */
	| { do: "CheckRows"; date?: UtcDate; rows: number }
	| { do: "Record"; change: RecordChange }
	| { do: "WriteView"; name: string; sql: string; comment: string }
	| { do: "DropView"; name: string };

export interface LoadPlan {
	table: string;
	/** A view of DuckDB is never rewritten for what people have done to it. */
	words?: undefined;
	steps: LoadStep[];
}

/** The table as the transaction finds it. */
export interface DuckDBTable extends CommentedTable {
	isEmpty: boolean;
	/** It has columns, but holds no rows of its own. */
	isView: boolean;
	/** What people have given to it that a new table in its place wouldn't have: indexes and constraints. */
	guards: string[];
}

/**
 * Decides how the days get into the table. Incremental replaces the manifest's days, empty ones too, and no others, but
 * only adds to days that keep rows; FullReload replaces all rows, and the table itself only if a column gets another type.
 * @param held What the table holds of the days; see known-dates.ts.
 * @param existing undefined when there is no table.
 * @param isStaged Whether one transaction can't hold the rows; see staged-table.ts.
 * Throws {@link JobFailure} for what {@link useOf} refuses, TableInUse for what a new table couldn't keep, and TableIncomplete if the table would lack days afterwards;
 * {@link TableChanged} if rows that a day keeps aren't what they were.
 */
export function planLoad(
	input: LoadInput,
	manifest: Manifest,
	days: LoadDay[],
	existing: DuckDBTable | undefined,
	held?: ReadonlyMap<UtcDate, HeldDate>,
	isStaged = false,
): LoadPlan {
	const { name, columns } = input.table;
	const plan = planTable(duckDBTables, input, manifest, existing);
	const { isNew, added, commented } = plan;
	const isKept =
		existing && !isNew && fits(existing.columns, wantedColumns(columns));
	const replaces = plan.replaces && !isKept;
	if (replaces && existing && existing.guards.length > 0)
		throw new JobFailure(
			"TableInUse",
			`A new table would take the place of table ${name}, and can't keep its ${existing.guards.join(", ")}`,
			{},
			duckDBErrors,
		);
	requireSameRows(name, days, plan.kept && held);
	const comment: LoadStep = { do: "Comment", text: plan.after };
	const comments = replaces
		? allComments(columns, commented)
		: missingComments(columns, commented);
	const commentColumns: LoadStep[] =
		comments.length > 0 ? [{ do: "CommentColumns", comments }] : [];
	const without = plan.replaces
		? []
		: days.filter(({ kept }) => !kept).map(({ date }) => date);
	const eventID = columns.find(({ from }) => from === "EventID")?.name;
	const checks: LoadStep[] = [];
	for (const { date, kept, objects } of days)
		if (kept && objects.length > 0 && eventID !== undefined)
			checks.push({
				do: "CheckNew",
				date,
				eventID,
				files: objects.map(({ file }) => file),
			});
	const full = days.filter(({ rows }) => rows > 0);
	const objects = full.flatMap(({ objects }) => objects);
	const files = objects.map(({ file }) => file);
	const loaded = full.map(({ date, rows }) => ({ date, rows }));
	const stay = replaces ? [] : (existing?.columns ?? []);
	if (full.length > 0 && !mayRepeatTexts(columns, stay)) {
		const hasBodies = columns.some(({ from }) => from === "Body");
		checks.push({
			do: "SkipDictionary",
			bodiesOf: hasBodies ? spread(files, sampledFiles) : [],
		});
	}
	const isView = existing?.isView && { isView: true as const };
	const steps: LoadStep[] = [];
	if (isStaged)
		steps.push(
			...checks,
			{
				do: "Stage",
				days: loaded,
				slices: slicesOf(objects, sliceBytes),
				columns,
				...(existing &&
					!replaces && {
						stay: { without: plan.replaces ? "All" : without, added },
					}),
			},
			{
				do: "Publish",
				...(existing && { replaces: existing.isView ? "view" : "table" }),
				...(existing && !replaces && { keeps: true }),
			},
			comment,
			...commentColumns,
		);
	else {
		if (replaces) steps.push({ do: "ReplaceTable", columns, ...isView });
		else if (!existing) steps.push({ do: "CreateTable", columns });
		else if (added.length > 0) steps.push({ do: "AddColumns", columns: added });
		steps.push(comment, ...commentColumns);
		if (plan.replaces && !replaces) steps.push({ do: "DeleteRows" });
		for (const date of without) steps.push({ do: "DeleteDay", date });
		steps.push(...checks);
		if (full.length > 0)
			steps.push({ do: "Insert", days: loaded, objects, columns });
	}
	steps.push(...rowChecks(input, days));
	const change = recordChange(plan, manifest, days);
	const isRecorded =
		change.dates.length === 0 &&
		change.loads.length === 0 &&
		change.former === undefined;
	if (!isRecorded) steps.push({ do: "Record", change });
	return { table: name, steps };
}

export const duckDBTables: TableType<DuckDBTable> = {
	found({ columns, comment: { mark }, isEmpty, isView }, { table, strategy }) {
		const wanted = wantedColumns(table.columns);
		const otherKind = isView ? "view" : undefined;
		const reason = isView
			? "it is a view"
			: incompatibility(columns, wanted, strategy, mark !== undefined);
		return { mark, otherKind, isEmpty, incompatibility: reason };
	},
	/**
	 * Also the SQL, since a later version may fill the same columns in another way. That the empty fields of forms are missing ones isn't in it: tables of
	 * before take it over as their days are replaced, not all at once.
	 */
	filling(table) {
		const columns = asFilled(table.columns);
		return [
			columns.map((column) => columnSql(column, columns)),
			eventRows([], columns, valuesOfJson),
			digestSql(columns),
		];
	},
};

export function wantedColumns(columns: readonly TableColumn[]): WantedColumn[] {
	return columns.map((column) => ({
		...column,
		type: columnSql(column).type,
	}));
}

const sampledFiles = 4;

/** At most so many of the values, from all over the list. */
function spread<T>(values: readonly T[], most: number): T[] {
	const step = Math.max(1, values.length / most);
	return values.filter((_, index) => index % step < 1);
}

/** Whether the table has texts beside ids and bodies that may be few, so that a dictionary makes them smaller and quicker to query. */
function mayRepeatTexts(
	columns: TableColumn[],
	existing: ExistingColumn[],
): boolean {
	const differ = columns
		.filter(({ from }) => from === "EventID" || from === "Body")
		.map(({ name }) => name.toLowerCase());
	const all = [...existing, ...columns.map((column) => columnSql(column))];
	return all.some(
		({ name, type }) =>
			!differ.includes(name.toLowerCase()) && /VARCHAR|JSON|BLOB/.test(type),
	);
}

function rowChecks(input: LoadInput, days: LoadDay[]): LoadStep[] {
	if (input.strategy === "Incremental")
		return days.map(({ date, rows, kept }) => ({
			do: "CheckRows",
			date,
			rows: rows + (kept?.rows ?? 0),
		}));
	return [
		{ do: "CheckRows", rows: days.reduce((sum, day) => sum + day.rows, 0) },
	];
}

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

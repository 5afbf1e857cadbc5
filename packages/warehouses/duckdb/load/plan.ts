import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	allComments,
	type ColumnComment,
	missingComments,
} from "../../load/column-comments.ts";
import { columnSql, type SizedFile } from "../../load/columns.ts";
import {
	type ExistingColumn,
	incompatibility,
	lacksValues,
	newColumns,
	type WantedColumn,
} from "../../load/incompatibility.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import { type TableComment, writeComment } from "../../load/table-comment.ts";
import {
	markAfter,
	pipelineOf,
	requireComplete,
} from "../../load/table-mark.ts";
import { type TableUse, useOf } from "../../load/table-owner.ts";
import { requireSameRows } from "../../load/warehouse.ts";
import { sliceBytes, slicesOf } from "./large-rows.ts";
import { type RecordChange, recordChange, recordOf } from "./load-record.ts";

/** What a load does to the table, in order: all in one transaction, but for what ends with a Stage. */
export type LoadStep =
	| { do: "CreateTable"; columns: TableColumn[] }
	/** Creates the table empty, in place of any existing one, which may be a view. */
	| { do: "ReplaceTable"; columns: TableColumn[]; isView?: true }
	| { do: "Comment"; text: string }
	| { do: "CommentColumns"; comments: ColumnComment[] }
	| { do: "AddColumns"; columns: TableColumn[] }
	| { do: "DeleteDay"; date: UtcDate }
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
			/** Rows of the table as it is that stay: all but those of these dates. Absent if it is replaced. */
			stay?: { without: UtcDate[]; added: TableColumn[] };
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
	steps: LoadStep[];
}

/** The table as the transaction finds it. */
export interface DuckDBTable {
	columns: ExistingColumn[];
	comment: TableComment;
	isEmpty: boolean;
	/** It has columns, but holds no rows of its own. */
	isView: boolean;
}

/**
 * Decides how the days get into the table. Incremental replaces the manifest's days, empty ones too, and no others, but
 * only adds to days that keep rows; FullReload replaces the whole table.
 * @param held What the table holds of the days; see held-dates.ts.
 * @param existing undefined when there is no table.
 * @param isStaged Whether one transaction can't hold the rows; see staged-table.ts.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards;
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
	const { name, columns, description } = input.table;
	const use = existing && duckDBUse(input, manifest, existing);
	const replaces = input.strategy === "FullReload" || use?.replaces === true;
	const added = existing ? newColumns(existing.columns, columns) : [];
	// The days that the table holds lack the values of a new column.
	const kept = replaces || lacksValues(added) ? undefined : use?.mark;
	requireComplete(name, kept, manifest);
	requireSameRows(name, days, kept && held);
	const words = existing && !replaces ? existing.comment.words : description;
	const record = recordOf(input, manifest, kept);
	const comment: LoadStep = {
		do: "Comment",
		text: writeComment(words, {
			...markAfter(kept, manifest, pipelineOf(input)),
			runName: input.run.name,
			...(record !== undefined && { record }),
		}),
	};
	// A view has no comments of its own.
	const commented = existing?.isView ? [] : existing?.columns;
	const comments = replaces
		? allComments(columns, commented)
		: missingComments(columns, commented);
	const commentColumns: LoadStep[] =
		comments.length > 0 ? [{ do: "CommentColumns", comments }] : [];
	const without = replaces
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
				...(existing && !replaces && { stay: { without, added } }),
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
		for (const date of without) steps.push({ do: "DeleteDay", date });
		steps.push(...checks);
		if (full.length > 0)
			steps.push({ do: "Insert", days: loaded, objects, columns });
	}
	steps.push(...rowChecks(input, days));
	const change = recordChange(record, manifest, days, columns);
	const isRecorded = change.dates.length === 0 && change.loads.length === 0;
	if (!isRecorded) steps.push({ do: "Record", change });
	return { table: name, steps };
}

/** See {@link useOf}. */
export function duckDBUse(
	input: LoadInput,
	manifest: Manifest,
	{ columns, comment, isEmpty, isView }: DuckDBTable,
): TableUse {
	const wanted = wantedColumns(input.table.columns);
	const otherKind = isView ? "view" : undefined;
	const { mark } = comment;
	const reason =
		otherKind === undefined
			? incompatibility(columns, wanted, input.strategy, mark !== undefined)
			: `it is a ${otherKind}`;
	return useOf(input, manifest, {
		mark,
		otherKind,
		isEmpty,
		incompatibility: reason,
	});
}

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

import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { JobFailure } from "../../job/errors.ts";
import { columnSql } from "../destination/columns.ts";
import {
	type ExistingColumn,
	incompatibility,
	newColumns,
} from "../destination/incompatibility.ts";
import {
	markAfter,
	missingDays,
	ownershipOf,
} from "../destination/table-mark.ts";
import type { LoadDay } from "../fetch/load-days.ts";
import { type TableComment, writeComment } from "./table-comment.ts";

/** What one transaction does to the table, in order. */
export type LoadStep =
	| { do: "CreateTable"; columns: TableColumn[] }
	/** Creates the table empty, in place of any existing one. */
	| { do: "ReplaceTable"; columns: TableColumn[] }
	| { do: "Comment"; text: string }
	| { do: "AddColumns"; columns: TableColumn[] }
	| { do: "DeleteDay"; date: UtcDate }
	/**
	 * Inserts exactly the days' rows, in one statement. DuckDB compresses and writes rows in groups of 122,880, and each
	 * thread keeps its last, incomplete group until the transaction ends. Inserted day by day, most of a table would be
	 * spilled to disk and then rewritten by the next checkpoint.
	 */
	| {
			do: "Insert";
			/** Days with events, ascending. */
			days: { date: UtcDate; rows: number }[];
			files: string[];
			columns: TableColumn[];
	  }
	/** The table must now have `rows` rows, each with its own event id: on `date`, or in all if absent. */
	| { do: "CheckRows"; date?: UtcDate; rows: number; eventID?: string };

export interface LoadPlan {
	table: string;
	steps: LoadStep[];
}

/** The table as the transaction finds it. */
export interface ExistingTable {
	columns: ExistingColumn[];
	comment: TableComment;
}

/**
 * Decides how the days get into the table. Incremental replaces the manifest's days, empty ones too, and no others;
 * FullReload replaces the whole table.
 * @param existing undefined when there is no table.
 * Throws {@link JobFailure} Superseded if a later Run has loaded the table, TableIncompatible if the table is incompatible
 * and must not be rebuilt, TableIncomplete if the table would lack days afterwards.
 */
export function planLoad(
	input: LoadInput,
	manifest: Manifest,
	days: LoadDay[],
	existing: ExistingTable | undefined,
): LoadPlan {
	const { name, columns, description } = input.table;
	const mark = existing?.comment.mark;
	if (ownershipOf(mark, manifest) === "theirs")
		throw new JobFailure(
			"Superseded",
			`Table ${name} has the data of Run uid ${mark!.run}, whose snapshot is later`,
		);
	const wanted = columns.map((column) => ({
		...column,
		type: columnSql(column).type,
	}));
	const reason =
		existing && incompatibility(existing.columns, wanted, input.strategy);
	if (reason !== undefined && !input.rebuild)
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} is incompatible: ${reason}`,
		);
	const replaces = input.strategy === "FullReload" || reason !== undefined;
	const added = existing ? newColumns(existing.columns, columns) : [];
	// The days that the table holds lack the values of a new column.
	const kept = replaces || added.length > 0 ? undefined : mark;
	const missing = missingDays(kept, manifest);
	if (missing !== undefined)
		throw new JobFailure("TableIncomplete", `Table ${name} ${missing}`);
	const steps: LoadStep[] = [];
	if (replaces) steps.push({ do: "ReplaceTable", columns });
	else if (!existing) steps.push({ do: "CreateTable", columns });
	else if (added.length > 0) steps.push({ do: "AddColumns", columns: added });
	const words = existing && !replaces ? existing.comment.words : description;
	const text = writeComment(words, markAfter(kept, manifest));
	steps.push({ do: "Comment", text });
	if (!replaces)
		for (const { date } of days) steps.push({ do: "DeleteDay", date });
	const full = days.filter(({ rows }) => rows > 0);
	if (full.length > 0)
		steps.push({
			do: "Insert",
			days: full.map(({ date, rows }) => ({ date, rows })),
			files: full.flatMap(({ objects }) => objects.map(({ file }) => file)),
			columns,
		});
	steps.push(...rowChecks(input, days));
	return { table: name, steps };
}

function rowChecks(input: LoadInput, days: LoadDay[]): LoadStep[] {
	const id = input.table.columns.find(({ from }) => from === "EventID")?.name;
	const eventID = id === undefined ? {} : { eventID: id };
	if (input.strategy === "Incremental")
		return days.map(({ date, rows }) => ({
			do: "CheckRows",
			date,
			rows,
			...eventID,
		}));
	const rows = days.reduce((sum, day) => sum + day.rows, 0);
	return [{ do: "CheckRows", rows, ...eventID }];
}

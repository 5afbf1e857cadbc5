import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { JobFailure } from "../../job/errors.ts";
import { columnSql } from "../destination/columns.ts";
import {
	type ExistingColumn,
	incompatibility,
} from "../destination/incompatibility.ts";
import type { LoadDay } from "../fetch/load-days.ts";

/** What one transaction does to the table, in order. */
export type LoadStep =
	| { do: "CreateTable"; columns: TableColumn[]; description: string }
	/** Creates the table empty, in place of any existing one. */
	| { do: "ReplaceTable"; columns: TableColumn[]; description: string }
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

/**
 * Decides how the days get into the table. Incremental replaces the manifest's days, empty ones too, and no others;
 * FullReload replaces the whole table.
 * @param existing columns of the table; undefined when there is no table.
 * Throws {@link JobFailure} TableIncompatible if the table is incompatible and must not be rebuilt.
 */
export function planLoad(
	input: LoadInput,
	days: LoadDay[],
	existing: ExistingColumn[] | undefined,
): LoadPlan {
	const { name, columns, description } = input.table;
	const wanted = columns.map((column) => ({
		...column,
		type: columnSql(column).type,
	}));
	const reason = existing && incompatibility(existing, wanted, input.strategy);
	if (reason !== undefined && !input.rebuild)
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} is incompatible: ${reason}`,
		);
	const replaces = input.strategy === "FullReload" || reason !== undefined;
	const steps: LoadStep[] = [];
	if (replaces) steps.push({ do: "ReplaceTable", columns, description });
	else if (!existing) steps.push({ do: "CreateTable", columns, description });
	else steps.push(...addedColumns(existing, columns));
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

function addedColumns(
	existing: ExistingColumn[],
	columns: TableColumn[],
): LoadStep[] {
	const present = new Set(existing.map(({ name }) => name.toLowerCase()));
	const added = columns.filter(({ name }) => !present.has(name.toLowerCase()));
	return added.length > 0 ? [{ do: "AddColumns", columns: added }] : [];
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

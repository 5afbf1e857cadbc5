import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { columnSql } from "../columns.ts";
import type { LoadDay } from "../days.ts";
import { JobFailure } from "../errors.ts";
import { type ExistingColumn, misfit } from "../incompatibility.ts";

/** What one transaction does to the table, in order. */
export type LoadStep =
	| { do: "CreateTable"; columns: TableColumn[]; description: string }
	/** Drops the table, if there is one, and makes it anew and empty. */
	| { do: "ReplaceTable"; columns: TableColumn[]; description: string }
	| { do: "AddColumns"; columns: TableColumn[] }
	| { do: "DeleteDay"; date: UtcDate }
	/**
	 * Must insert exactly the days' rows. One statement for all of them: DuckDB compresses rows and writes them out in
	 * groups of 122,880, and each thread keeps the end of its last until the transaction's end. Day by day most of a table
	 * would be spilled first, and be written anew by the next checkpoint.
	 */
	| {
			do: "Insert";
			/** Ascending, those with events. */
			days: { date: UtcDate; rows: number }[];
			files: string[];
			columns: TableColumn[];
	  }
	/** The table must now have `rows` rows, each with its own event id; of all dates if none is given. */
	| { do: "Verify"; date?: UtcDate; rows: number; eventID?: string };

export interface LoadPlan {
	table: string;
	steps: LoadStep[];
}

/**
 * Decides how the days get into the table.
 *
 * Incremental replaces the days of the manifest, empty ones too, and touches no other; FullReload replaces the whole
 * table. `existing` are the columns of the table as it stands, undefined when there is none.
 * Throws {@link JobFailure} TableIncompatible when the table doesn't fit and mustn't be rebuilt.
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
	const reason = existing && misfit(existing, wanted, input.strategy);
	if (reason !== undefined && !input.rebuild)
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} can't take this load: ${reason}`,
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
	steps.push(...verifications(input, days));
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

function verifications(input: LoadInput, days: LoadDay[]): LoadStep[] {
	const id = input.table.columns.find(({ from }) => from === "EventID")?.name;
	const eventID = id === undefined ? {} : { eventID: id };
	if (input.strategy === "Incremental")
		return days.map(({ date, rows }) => ({
			do: "Verify",
			date,
			rows,
			...eventID,
		}));
	const rows = days.reduce((sum, day) => sum + day.rows, 0);
	return [{ do: "Verify", rows, ...eventID }];
}

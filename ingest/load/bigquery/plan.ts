import type { LoadInput } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import type { LoadDay } from "../days.ts";
import { JobFailure } from "../errors.ts";
import { misfit } from "../incompatibility.ts";
import type { Table } from "./api.ts";
import { existingColumns, wantedColumns } from "./schema.ts";

/** Data that becomes one load job. A repeated Run finds the job by its name. */
export interface PlannedLoad {
	/** Of the Run: a date, or what isn't a day's. */
	name: string;
	/** With `$YYYYMMDD` for a day's partition. */
	table: string;
	rows: number;
	files: string[];
}

/** A full reload's data, with the days that it is of. */
export interface PlannedTable extends PlannedLoad {
	days: { rows: number }[];
}

/** What a Run does in BigQuery, in the order of the fields. */
export interface BigQueryPlan {
	/** Of the table itself. */
	table: "Keep" | "Create" | "Replace";
	/** Each is replaced by one job, in any order. */
	days: (PlannedLoad & { date: UtcDate })[];
	/** Partitions of days without events: they are deleted. */
	emptyDays: string[];
	/** A full reload: its data goes into a table of its own, which one copy job then puts in the place of the old. */
	staging?: PlannedTable;
}

/**
 * Decides how the days get into the table (design §6). `existing` is undefined when there is no such table.
 * Throws {@link JobFailure} TableIncompatible when the table doesn't fit and mustn't be rebuilt.
 */
export function planBigQuery(
	input: LoadInput,
	days: LoadDay[],
	existing: Table | undefined,
): BigQueryPlan {
	const { name } = input.table;
	const reason = existing && misfitOf(existing, input);
	if (reason !== undefined && !input.rebuild)
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} can't take this load: ${reason}`,
		);
	const table = !existing
		? "Create"
		: reason === undefined
			? "Keep"
			: "Replace";
	if (input.strategy === "FullReload")
		return { table, days: [], emptyDays: [], staging: staged(input, days) };
	const partition = (date: UtcDate) => `${name}$${date.replaceAll("-", "")}`;
	return {
		table,
		days: days
			.filter(({ rows }) => rows > 0)
			.map(({ date, rows, objects }) => ({
				date,
				name: date.replaceAll("-", ""),
				table: partition(date),
				rows,
				files: objects.map(({ file }) => file),
			})),
		// A table that is new has no partitions.
		emptyDays:
			table === "Keep"
				? days
						.filter(({ rows }) => rows === 0)
						.map(({ date }) => partition(date))
				: [],
	};
}

/** Unique: BigQuery knows a job's id for ever, and a table's name must say whose it is. */
export function jobIdOf(runUid: string, name: string, attempt: number): string {
	return `tidemill_${runUid}_${name}_${attempt}`;
}

function staged({ run, table }: LoadInput, days: LoadDay[]): PlannedTable {
	return {
		name: "staging",
		table: `${table.name}_tidemill_${run.uid.replaceAll("-", "")}`,
		rows: days.reduce((sum, { rows }) => sum + rows, 0),
		days: days.filter(({ rows }) => rows > 0).map(({ rows }) => ({ rows })),
		files: days.flatMap(({ objects }) => objects.map(({ file }) => file)),
	};
}

function misfitOf(
	existing: Table,
	{ table: { columns }, strategy }: LoadInput,
): string | undefined {
	const { type = "TABLE", timePartitioning, rangePartitioning } = existing;
	if (type !== "TABLE") return `it is a ${type}`;
	const reason = misfit(
		existingColumns(existing),
		wantedColumns(columns),
		strategy,
	);
	if (reason !== undefined) return reason;
	if (strategy === "FullReload")
		return timePartitioning || rangePartitioning
			? "it is partitioned, which a full reload would undo"
			: undefined;
	const date = columns.find(({ from }) => from === "Date")!.name;
	return timePartitioning?.type === "DAY" && timePartitioning.field === date
		? undefined
		: `it is not partitioned by day of "${date}"`;
}

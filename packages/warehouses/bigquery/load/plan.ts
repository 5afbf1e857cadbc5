import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	incompatibility,
	lacksValues,
	newColumns,
} from "../../load/incompatibility.ts";
import type { LoadDay } from "../../load/load-day.ts";
import {
	requireComplete,
	type TableUse,
	useOf,
} from "../../load/table-mark.ts";
import type { BigQueryField, BigQueryTable } from "./rest/api.ts";
import { existingColumns, fieldsOf, wantedColumns } from "./schema.ts";
import { markFor } from "./table-labels.ts";
import { keyProblem } from "./table-options.ts";

/** One load job. A repeated Run finds the job by its name. */
export interface PlannedLoad {
	/** Unique for the table in the Run. */
	name: string;
	/** What the job replaces: a day's partition, or the table. */
	table: string;
	/** Those with events: one for a partition, all for the table. */
	days: LoadDay[];
}

/** What a Run does in BigQuery, in the order of these fields. */
export interface BigQueryPlan {
	/** What happens to the table itself. */
	table: "Keep" | "Create" | "Replace";
	/** Columns that the table gets before the first load. */
	newFields: BigQueryField[];
	/** In any order. */
	loads: PlannedLoad[];
	/** Partitions to delete, since their days have no events. */
	emptyDays: string[];
}

/**
 * Decides how the days get into the table.
 * @param existing undefined when there is no table.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards.
 */
export function planBigQuery(
	input: LoadInput,
	manifest: Manifest,
	days: LoadDay[],
	existing: BigQueryTable | undefined,
): BigQueryPlan {
	const { name, columns } = input.table;
	const use = existing && bigQueryUse(input, manifest, existing);
	const replaces =
		use?.replaces || (existing && hasOtherTypes(existing, input));
	const table = !use ? "Create" : replaces ? "Replace" : "Keep";
	const added = newColumns(existing ? existingColumns(existing) : [], columns);
	// The days that the table holds lack the values of a new column.
	requireComplete(name, lacksValues(added) ? undefined : use?.mark, manifest);
	const full = days.filter(({ rows }) => rows > 0);
	const newFields =
		table === "Keep" ? fieldsOf({ ...input.table, columns: added }) : [];
	if (input.strategy === "FullReload")
		return {
			table,
			newFields,
			loads: [{ name: "table", table: name, days: full }],
			emptyDays: [],
		};
	return {
		table,
		newFields,
		loads: full.map((day) => ({
			name: day.date.replaceAll("-", ""),
			table: partitionOf(name, day.date),
			days: [day],
		})),
		// A new table has no partitions.
		emptyDays:
			table === "Keep"
				? days
						.filter(({ rows }) => rows === 0)
						.map(({ date }) => partitionOf(name, date))
				: [],
	};
}

/** Deterministic, so that a repeated Run finds its jobs. BigQuery never accepts a job id twice. */
export function jobIdOf(
	{ run, asked }: Manifest,
	table: string,
	name: string,
	attempt: number,
): string {
	// A Run that has begun with a part and goes on with the whole window loads other rows.
	return `tidemill_${run}_${asked.extent.toLowerCase()}_${table}_${name}_${attempt}`;
}

/** Whether a job id is one that {@link jobIdOf} gives to a Run. */
export function isJobOf(run: string, jobId: string): boolean {
	return jobId.startsWith(`tidemill_${run}_`);
}

/** See {@link useOf}. */
export function bigQueryUse(
	input: LoadInput,
	manifest: Manifest,
	existing: BigQueryTable,
): TableUse {
	const { type = "TABLE", numRows, streamingBuffer } = existing;
	const isTable = type === "TABLE";
	return useOf(input, manifest, {
		mark: isTable ? markFor(existing, input) : undefined,
		otherKind: isTable ? undefined : type,
		// A view has no rows of its own, either (cloud.google.com/bigquery/docs/reference/rest/v2/tables#Table.FIELDS.num_rows).
		isEmpty: isTable && numRows === "0" && !streamingBuffer,
		incompatibility: incompatibilityOf(existing, input),
	});
}

function incompatibilityOf(
	existing: BigQueryTable,
	input: LoadInput,
): string | undefined {
	const {
		table: { columns },
		strategy,
	} = input;
	const { type = "TABLE", timePartitioning, rangePartitioning } = existing;
	if (type !== "TABLE") return `it is a ${type}`;
	const reason =
		incompatibility(
			existingColumns(existing),
			wantedColumns(input.table),
			strategy,
			markFor(existing, input) !== undefined,
		) ?? keyProblem(existing, input);
	if (reason !== undefined) return reason;
	if (strategy === "FullReload")
		return timePartitioning || rangePartitioning
			? "it is partitioned, and a full reload would undo that"
			: undefined;
	const date = columns.find(({ from }) => from === "Date")!.name;
	return timePartitioning?.type === "DAY" && timePartitioning.field === date
		? undefined
		: `it is not partitioned by day of "${date}"`;
}

/** A load that replaces all rows leaves the types of columns that load has found: only for it {@link incompatibility} lets them pass. */
function hasOtherTypes(existing: BigQueryTable, { table }: LoadInput): boolean {
	const types = new Map(
		existingColumns(existing).map(({ name, type }) => [
			name.toLowerCase(),
			type,
		]),
	);
	return wantedColumns(table).some(
		({ name, type, isFound }) =>
			isFound && (types.get(name.toLowerCase()) ?? type) !== type,
	);
}

/**
 * The id of one day's partition, `table$YYYYMMDD`
 * (cloud.google.com/bigquery/docs/managing-partitioned-table-data#write-partition): a load job that truncates it replaces
 * that day alone, and deleting it deletes that day alone.
 */
export function partitionOf(table: string, date: UtcDate): string {
	return `${table}$${date.replaceAll("-", "")}`;
}

/** Whether a table id names a partition. */
export function isPartition(tableId: string): boolean {
	return tableId.includes("$");
}

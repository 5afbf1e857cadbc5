import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	columnsBetween,
	latestSql,
	rewrittenWords,
	viewChange,
} from "../../load/latest-view.ts";
import type { LoadDay } from "../../load/load-day.ts";
import {
	requireComplete,
	type TableUse,
	useOf,
} from "../../load/table-mark.ts";
import {
	incompatibility,
	lacksValues,
	newColumns,
} from "../../load/table-plan.ts";
import type { BigQueryDataset } from "./dataset.ts";
import type { BigQueryField, BigQueryTable } from "./rest/google-refusal.ts";
import {
	existingColumns,
	fieldsOf,
	label,
	markFor,
	wantedColumns,
} from "./schema.ts";
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

/** Changes of the view, before the table's columns change and as soon as they have; undefined for none. */
export interface ViewChanges {
	before?: (() => Promise<unknown>) | undefined;
	after?: (() => Promise<unknown>) | undefined;
	/** See {@link rewrittenWords}. */
	words?: string | undefined;
}

/**
 * Reads what has the name of the view of a table's latest rows.
 * @param replaced The table whose place another takes.
 * Throws what {@link viewChange} throws.
 */
export async function viewChanges(
	input: LoadInput,
	dataset: BigQueryDataset,
	replaced: BigQueryTable | undefined,
): Promise<ViewChanges> {
	const { name: table, columns, latest } = input.table;
	if (!latest) return {};
	const found = await dataset.findTable(latest.name);
	const quote = (name: string) => `\`${name}\``;
	const { projectId, datasetId } = dataset.reference(table);
	const changeTo = (columns: readonly TableColumn[], isStale = false) => {
		const { all, key, newest } = latestSql(columns, latest, quote);
		const query =
			`SELECT ${all} FROM ${quote(`${projectId}.${datasetId}.${table}`)} WHERE TRUE` +
			` QUALIFY ROW_NUMBER() OVER (PARTITION BY ${key} ORDER BY ${newest}) = 1`;
		const change = viewChange(
			input,
			found && {
				kind: (found.type ?? "table").toLowerCase(),
				mark: markOf(found),
				// Labels stay on a view whose query a person changes.
				isAsMade: found.view?.query === query,
			},
			// BigQuery keeps the types of a view's columns.
			[
				query,
				fieldsOf({ ...input.table, columns: [...columns] }).map(
					({ type }) => type,
				),
			],
			isStale,
		);
		if (!change) return undefined;
		const { name } = change;
		if (change.do === "Drop")
			return { carryOut: () => dataset.deleteTable(name) };
		const [namespace, pipeline] = change.mark.pipeline.split("/");
		const view = {
			view: { query, useLegacySql: false as const },
			description: change.words,
			labels: {
				[label.namespace]: namespace!,
				[label.pipeline]: pipeline!,
				[label.view]: change.mark.view,
			},
		};
		const carryOut = () =>
			found ? dataset.patchTable(name, view) : dataset.createTable(name, view);
		return { carryOut, words: rewrittenWords(change) };
	};
	const between =
		found && replaced && latest.by.length > 0
			? columnsBetween(
					input.table,
					existingColumns(replaced),
					wantedColumns(input.table),
				)
			: undefined;
	// A rebuilt table has no rows when it gets its columns. Without a key in common, the view fails until right after that.
	const isBetween = between !== undefined && between !== "NoKey";
	const after = changeTo(columns, isBetween);
	return {
		before: isBetween ? changeTo(between, true)?.carryOut : undefined,
		after: after?.carryOut,
		words: after?.words,
	};
}

function markOf({ type, labels = {} }: BigQueryTable) {
	const [namespace, name] = [labels[label.namespace], labels[label.pipeline]];
	const view = labels[label.view];
	return type === "VIEW" && namespace && name && view
		? { pipeline: `${namespace}/${name}`, view }
		: undefined;
}

import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { asFilled } from "../../load/columns.ts";
import { fits, incompatibility } from "../../load/incompatibility.ts";
import type { LoadDay } from "../../load/load-day.ts";
import {
	type ColumnComment,
	missingComments,
} from "../../load/table-comment.ts";
import { planTable, type TableType } from "../../load/table-plan.ts";
import type { PostgresTableOptions } from "../input.ts";
import { maxNameBytes, type PostgresTable } from "./catalog.ts";
import { PostgresFailure } from "./failure.ts";
import { dateColumn, typeOf, wantedColumns } from "./schema.ts";

/** What a load does. */
export interface PostgresPlan {
	/**
	 * `Days`: it changes days of the table, which it may create. `Whole`: it changes all rows of the table that is there. `Swap`: it fills
	 * a new table, which takes the place of what is there.
	 */
	publish: "Days" | "Whole" | "Swap";
	creates: boolean;
	/** Columns that the existing table gets first. */
	added: LoadInput["table"]["columns"];
	/** On columns that lack one. */
	comments: ColumnComment[];
	/** Comments on the table while days change, and afterwards. */
	during: string;
	after: string;
	/** Names what is recorded about the table's rows; undefined for nothing. */
	record: string | undefined;
	/** Whether the rows that stay are known to be the record's, so that days may keep theirs. */
	mayKeep: boolean;
}

/**
 * Decides how the days get into the table.
 * @param existing undefined when there is no table.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards.
 */
export function planPostgres(
	input: LoadInput,
	manifest: Manifest,
	existing: PostgresTable | undefined,
): PostgresPlan {
	requireNames(input);
	const plan = planTable(postgresTables, input, manifest, existing);
	const { isNew, replaces, kept, record } = plan;
	const { columns, options } = input.table;
	const stays =
		existing &&
		!isNew &&
		fits(existing.columns, wantedColumns(columns, options));
	const publish = !replaces ? "Days" : stays ? "Whole" : "Swap";
	return {
		publish,
		creates: !existing,
		added: publish === "Swap" ? [] : plan.added,
		comments: missingComments(input.table.columns, plan.commented),
		during: plan.during(record),
		after: plan.after,
		record,
		mayKeep: kept?.record !== undefined && kept.record === record,
	};
}

function requireNames({ table: { name, columns, latest } }: LoadInput): void {
	const hasView = latest && latest.by.length > 0;
	for (const [what, text] of [
		["The table's name", name],
		...(hasView ? [["The view's name", latest.name]] : []),
		...columns.map(({ name }) => ["The column's name", name]),
	] as [string, string][])
		if (Buffer.byteLength(text) > maxNameBytes)
			throw new PostgresFailure(
				"NameTooLong",
				`${what} "${text}" has ${Buffer.byteLength(text)} bytes`,
			);
}

export const postgresTables: TableType<PostgresTable> = {
	found: (existing, input, manifest) => ({
		mark: existing.otherKind === undefined ? existing.comment.mark : undefined,
		otherKind: existing.otherKind,
		isEmpty: existing.isEmpty,
		incompatibility: incompatibilityOf(existing, input, manifest),
	}),
	filling: ({ columns, options }) => [
		asFilled(columns).map((column) => [
			column,
			typeOf(column, options as PostgresTableOptions),
		]),
	],
};

function incompatibilityOf(
	existing: PostgresTable,
	{ table: { columns, options }, strategy }: LoadInput,
	{ dates }: Manifest,
): string | undefined {
	const {
		otherKind,
		partitionKey,
		defaultPartition,
		otherPartitions = [],
	} = existing;
	if (otherKind !== undefined) return `it is a ${otherKind}`;
	const reason = incompatibility(
		existing.columns,
		wantedColumns(columns, options),
		strategy,
		existing.comment.mark !== undefined,
	);
	if (reason !== undefined) return reason;
	if (strategy === "FullReload")
		return partitionKey === undefined
			? undefined
			: `it is partitioned by ${partitionKey}, and a full reload would undo that`;
	const wanted = keyOf(columns);
	if (partitionKey === undefined || partitionKey.replaceAll('"', "") !== wanted)
		return `it is not partitioned by ${wanted}`;
	// Rows of a day could neither be replaced there nor come beside it.
	const shared = otherPartitions.find(
		({ from = "", to = "~", name }) =>
			name !== defaultPartition &&
			dates.some(({ date }) => date >= from && date < to),
	);
	if (shared)
		return `its partition "${shared.name}" isn't that of one day, and a day is replaced as a partition of its own`;
	return defaultPartition === undefined
		? undefined
		: `it has a default partition, "${defaultPartition}", which readers would wait for whenever a day is added`;
}

/** As Postgres writes a partition key. */
function keyOf(columns: LoadInput["table"]["columns"]): string {
	return `RANGE (${dateColumn(columns)})`;
}

export function partitionBy(columns: LoadInput["table"]["columns"]): string {
	const date = dateColumn(columns);
	return date === undefined ? "" : ` PARTITION BY RANGE (${quoteName(date)})`;
}

/** Whether a day is changed at all. */
export function isChanged({ kept, objects }: LoadDay): boolean {
	return !kept || kept.renamed !== undefined || objects.length > 0;
}

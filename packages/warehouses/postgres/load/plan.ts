import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import {
	type ColumnComment,
	missingComments,
} from "../../load/column-comments.ts";
import {
	incompatibility,
	lacksValues,
	newColumns,
} from "../../load/incompatibility.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { writeComment } from "../../load/table-comment.ts";
import {
	markAfter,
	markDuring,
	pipelineOf,
	requireComplete,
} from "../../load/table-mark.ts";
import { type TableUse, useOf } from "../../load/table-owner.ts";
import type { PostgresTable } from "./catalog.ts";
import { PostgresFailure } from "./failure.ts";
import { recordOf } from "./record.ts";
import { dateColumn, wantedColumns } from "./schema.ts";

/** What a load does. */
export interface PostgresPlan {
	/** `Days`: it changes days of the table, which it may create. `Swap`: it fills a new table, which takes the table's place. */
	publish: "Days" | "Swap";
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
	const { name, columns, description } = input.table;
	requireNames(input);
	const use = existing && postgresUse(input, manifest, existing);
	const isNew = !use || use.replaces;
	const isSwap = input.strategy === "FullReload" || use?.replaces === true;
	const added =
		existing && !isSwap ? newColumns(existing.columns, columns) : [];
	// The days that the table holds lack the values of a new column.
	const kept = isSwap || lacksValues(added) ? undefined : use?.mark;
	requireComplete(name, kept, manifest);
	const words = existing && !isNew ? existing.comment.words : description;
	const record = recordOf(input, manifest, kept);
	const pipeline = pipelineOf(input);
	const recorded = {
		runName: input.run.name,
		...(record !== undefined && { record }),
	};
	return {
		publish: isSwap ? "Swap" : "Days",
		creates: !existing,
		added,
		comments: missingComments(
			columns,
			existing?.otherKind === undefined ? existing?.columns : [],
		),
		during: writeComment(words, {
			...markDuring(kept, manifest, pipeline),
			...recorded,
		}),
		after: writeComment(words, {
			...markAfter(kept, manifest, pipeline),
			...recorded,
		}),
		record,
		mayKeep: kept?.record !== undefined && kept.record === record,
	};
}

/** Postgres cuts a longer name, and would then find another table. */
const maxNameBytes = 63;

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

/** See {@link useOf}. */
export function postgresUse(
	input: LoadInput,
	manifest: Manifest,
	existing: PostgresTable,
): TableUse {
	const { otherKind, isEmpty, comment } = existing;
	return useOf(input, manifest, {
		mark: otherKind === undefined ? comment.mark : undefined,
		otherKind,
		isEmpty,
		incompatibility: incompatibilityOf(existing, input),
	});
}

function incompatibilityOf(
	existing: PostgresTable,
	{ table: { columns, options }, strategy }: LoadInput,
): string | undefined {
	const { otherKind, partitionKey, defaultPartition } = existing;
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

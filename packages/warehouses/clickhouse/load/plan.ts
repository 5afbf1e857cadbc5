import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	allComments,
	type ColumnComment,
	missingComments,
} from "../../load/column-comments.ts";
import {
	type ExistingColumn,
	incompatibility,
	lacksValues,
	newColumns,
} from "../../load/incompatibility.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import { type TableComment, writeComment } from "../../load/table-comment.ts";
import {
	markAfter,
	markDuring,
	pipelineOf,
	requireComplete,
} from "../../load/table-mark.ts";
import { type TableUse, useOf } from "../../load/table-owner.ts";
import { requireSameRows } from "../../load/warehouse.ts";
import type { ClickHouseTableOptions } from "../input.ts";
import { recordOf } from "./record.ts";
import { dateColumn, defaultOrder, wantedColumns } from "./schema.ts";
import type { NewTable } from "./statements.ts";

/** The table as a load finds it. */
export interface ClickHouseTable {
	columns: ExistingColumn[];
	comment: TableComment;
	isEmpty: boolean;
	/** Such as `MergeTree` or `View`. */
	engine: string;
	/** As the server writes them, such as `date, timestamp`; empty for none. */
	partitionKey: string;
	sortingKey: string;
}

/** What a load does: it fills a staging table, which then replaces the whole table or gives it partitions. */
export interface ClickHousePlan {
	/** Without an existing table, the staging table gets its name. */
	publish: "Partitions" | "Exchange" | "Rename";
	/** The staging table; undefined for one like the existing table. */
	staging: NewTable | undefined;
	/** Columns that the existing table gets first. */
	added: TableColumn[];
	/** On columns of the existing table that lack one, if the staging table is like it. */
	comments: ColumnComment[];
	/** Comments on the table while rows change, and afterwards. */
	during: string;
	after: string;
	/** Names what is recorded about the table's rows; undefined for nothing. */
	record: string | undefined;
}

/**
 * Decides how the days get into the table.
 * @param existing undefined when there is no table.
 * @param held What the table holds of days that keep rows, now.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards;
 * {@link TableChanged} if rows that a day keeps aren't what they were.
 */
export function planClickHouse(
	input: LoadInput,
	manifest: Manifest,
	days: LoadDay[],
	existing: ClickHouseTable | undefined,
	held?: ReadonlyMap<UtcDate, HeldDate>,
): ClickHousePlan {
	const { name, columns, description } = input.table;
	const use = existing && clickHouseUse(input, manifest, existing);
	const isNew = !use || use.replaces;
	const isWhole = isNew || input.strategy === "FullReload";
	const added = existing ? newColumns(existing.columns, columns) : [];
	// The days that the table holds lack the values of a new column.
	const kept = isWhole || lacksValues(added) ? undefined : use?.mark;
	requireComplete(name, kept, manifest);
	requireSameRows(name, days, kept && held);
	const words = existing && !isNew ? existing.comment.words : description;
	const record = recordOf(input, manifest, kept);
	const pipeline = pipelineOf(input);
	const after = writeComment(words, {
		...markAfter(kept, manifest, pipeline),
		runName: input.run.name,
		...(record !== undefined && { record }),
	});
	const during = writeComment(words, {
		...markDuring(kept, manifest, pipeline),
		runName: input.run.name,
		...(kept?.record !== undefined && { record: kept.record }),
	});
	return {
		publish: !existing ? "Rename" : isWhole ? "Exchange" : "Partitions",
		staging: isNew
			? {
					columns,
					orderBy: orderOf(input),
					comment: after,
					comments: allComments(
						columns,
						existing && isMergeTree(existing) ? existing.columns : [],
					),
				}
			: undefined,
		added: isNew ? [] : added,
		comments: isNew ? [] : missingComments(columns, existing!.columns),
		during,
		after,
		record,
	};
}

function orderOf({
	table: { columns, options },
}: Pick<LoadInput, "table">): readonly string[] {
	const { orderBy }: ClickHouseTableOptions = options ?? {};
	return orderBy ?? defaultOrder(columns);
}

/** See {@link useOf}. */
export function clickHouseUse(
	input: LoadInput,
	manifest: Manifest,
	existing: ClickHouseTable,
): TableUse {
	const { engine, isEmpty, comment } = existing;
	const isTable = isMergeTree(existing);
	return useOf(input, manifest, {
		mark: isTable ? comment.mark : undefined,
		otherKind: isTable ? undefined : engine,
		isEmpty: isTable && isEmpty,
		incompatibility: incompatibilityOf(existing, input),
	});
}

function isMergeTree({ engine }: Pick<ClickHouseTable, "engine">): boolean {
	return engine.endsWith("MergeTree");
}

/** The others merge rows that have the same key into one. */
const keepsAllRows = /^(Replicated|Shared)?MergeTree$/;

function incompatibilityOf(
	{
		columns: found,
		comment,
		engine,
		partitionKey,
		sortingKey,
	}: ClickHouseTable,
	{ table: { columns, options }, strategy }: LoadInput,
): string | undefined {
	if (!engine.endsWith("MergeTree")) return `it is a ${engine}`;
	if (!keepsAllRows.test(engine))
		return `its engine is ${engine}, which doesn't keep every row`;
	const reason = incompatibility(
		found,
		wantedColumns(columns),
		strategy,
		comment.mark !== undefined,
	);
	if (reason !== undefined) return reason;
	const { orderBy }: ClickHouseTableOptions = options ?? {};
	const wantedOrder = orderBy?.join(", ");
	if (wantedOrder !== undefined && namesOf(sortingKey) !== wantedOrder)
		return `it is sorted by (${sortingKey}), and spec.table.clickHouse.orderBy is (${wantedOrder})`;
	const date = dateColumn(columns);
	if (date === undefined)
		return partitionKey === ""
			? undefined
			: `it is partitioned by ${partitionKey}, and a full reload would undo that`;
	return namesOf(partitionKey) === date
		? undefined
		: `it is not partitioned by "${date}"`;
}

/** A key's names as the server writes them, which may be in parentheses. */
function namesOf(key: string): string {
	return key.replaceAll(/[`()]/g, "");
}

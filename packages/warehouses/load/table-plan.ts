import { createHash } from "node:crypto";
import type { LoadInput, TableColumn } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../contracts/utc-date.ts";
import {
	type ExistingColumn,
	lacksValues,
	newColumns,
} from "./incompatibility.ts";
import {
	type HeldDate,
	type LoadDay,
	nameOf,
	type RecordedLoad,
	recordedNames,
} from "./load-day.ts";
import { type TableComment, writeComment } from "./table-comment.ts";
import {
	type FoundTable,
	markAfter,
	markDuring,
	pipelineOf,
	requireComplete,
	type TableMark,
	type TableUse,
	useOf,
} from "./table-mark.ts";

/** A table whose mark is in its comment, as a load finds it. */
export interface CommentedTable {
	columns: ExistingColumn[];
	comment: TableComment;
}

/** What a type of warehouse knows of its tables, for the decisions that are alike for all types. */
export interface TableType<Table extends CommentedTable> {
	found(table: Table, input: LoadInput, manifest: Manifest): FoundTable;
	/** How the columns are filled: a record is about rows that were filled in one way. */
	filling(table: LoadInput["table"]): readonly unknown[];
}

/** What a load does to a table, whatever its type. */
export interface TablePlan {
	/** No table is there, or it gives its place to one that is made anew. */
	isNew: boolean;
	/** All of the rows that are there go. */
	replaces: boolean;
	/** Columns that the table gets, unless it is new. */
	added: TableColumn[];
	/** The columns that may have people's comments. */
	commented: ExistingColumn[];
	/** Of the rows that stay; undefined for nothing. */
	kept: TableMark | undefined;
	/** Names what is recorded about the table's rows; undefined for nothing. */
	record: string | undefined;
	/** The table's comment while rows change. It names a record, unless that is undefined. */
	during(record: string | undefined): string;
	/** And afterwards. */
	after: string;
}

/**
 * Decides what a load does to a table.
 * @param existing undefined when there is no table.
 * Throws {@link JobFailure} for what {@link useOf} refuses, and TableIncomplete if the table would lack days afterwards.
 */
export function planTable<Table extends CommentedTable>(
	type: TableType<Table>,
	input: LoadInput,
	manifest: Manifest,
	existing: Table | undefined,
): TablePlan {
	const { name, columns, description } = input.table;
	const found = existing && type.found(existing, input, manifest);
	const use = found && useOf(input, manifest, found);
	const isNew = !use || use.replaces;
	const isReload = input.strategy === "FullReload";
	const replaces = isReload || use?.replaces === true;
	const added = isNew ? [] : newColumns(existing!.columns, columns);
	// The days that the table holds lack the values of a new column.
	const kept = replaces || lacksValues(added) ? undefined : use?.mark;
	requireComplete(name, kept, manifest);
	const record = recordOf(type, input, manifest, kept);
	const words = isNew ? description : existing!.comment.words;
	const comment = (mark: typeof markDuring, record: string | undefined) =>
		writeComment(words, {
			...mark(kept, manifest, pipelineOf(input)),
			runName: input.run.name,
			...(record !== undefined && { record }),
		});
	return {
		isNew,
		replaces,
		added,
		commented: found?.otherKind === undefined ? (existing?.columns ?? []) : [],
		kept,
		record,
		during: (record) => comment(markDuring, record),
		after: comment(markAfter, record),
	};
}

/** See {@link useOf}. */
export function useOfTable<Table extends CommentedTable>(
	type: TableType<Table>,
	input: LoadInput,
	manifest: Manifest,
	existing: Table,
): TableUse {
	return useOf(input, manifest, type.found(existing, input, manifest));
}

/**
 * A type may forget loads of such a date, which is replaced when a Run comes back to it. Those that remember forgot them in earlier
 * builds.
 */
export const recordedDays = 35;

/** The first date of which a load is remembered. */
export function oldestRecorded({
	snapshotTime,
}: Pick<Manifest, "snapshotTime">): UtcDate {
	return addDays(utcDate(Date.parse(snapshotTime)), -recordedDays);
}

/**
 * The record that the table's mark names, or a new one if that is about another Source, or about columns that were filled
 * in another way, or about events of another filter; undefined for a full reload, which replaces the table.
 */
export function recordOf(
	{ filling }: Pick<TableType<never>, "filling">,
	{ strategy, filter, table }: Pick<LoadInput, "strategy" | "filter" | "table">,
	{ sourceKey, run }: Pick<Manifest, "sourceKey" | "run">,
	mark: TableMark | undefined,
): string | undefined {
	if (strategy !== "Incremental") return undefined;
	const content = createHash("sha256")
		.update(
			JSON.stringify([
				sourceKey,
				...filling(table),
				...(filter ? [filter] : []),
			]),
		)
		.digest("hex")
		.slice(0, 16);
	return mark?.record?.startsWith(content) ? mark.record : `${content}-${run}`;
}

/** What a date holds; undefined if that was forgotten. @param isOld Whether earlier builds have forgotten such a date. */
export type HeldOn = (
	date: UtcDate,
	isOld: boolean,
) => HeldDate | undefined | Promise<HeldDate | undefined>;

/**
 * What a table holds of the manifest's dates; undefined if it has no record about these columns and this Source. Throws
 * the {@link JobFailure} with which the load would refuse the table.
 * @param read Reads a record about these dates, and the table; undefined if there is none.
 */
export async function heldDates<Table extends CommentedTable>(
	type: TableType<Table>,
	input: LoadInput,
	manifest: Manifest,
	existing: Table | undefined,
	read: (
		table: Table,
		record: string,
		dates: UtcDate[],
	) => Promise<HeldOn | undefined>,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const { mark } =
		(existing && useOfTable(type, input, manifest, existing)) ?? {};
	if (mark?.record === undefined) return undefined;
	if (newColumns(existing!.columns, input.table.columns).length > 0)
		return undefined;
	if (recordOf(type, input, manifest, mark) !== mark.record) return undefined;
	const dates = manifest.dates.map(({ date }) => date);
	const held = new Map<UtcDate, HeldDate>();
	if (dates.length === 0) return held;
	const heldOn = await read(existing!, mark.record, dates);
	if (!heldOn) return undefined;
	const oldest = oldestRecorded(manifest);
	for (const date of dates) {
		const found = await heldOn(date, date < oldest);
		if (found) held.set(date, found);
	}
	return held;
}

/** What a load records about a day. */
export interface DayRecord {
	/** The rows that stay, if their objects have other names now. */
	stays?: RecordedLoad;
	/** What the load inserts; absent if that is nothing beside rows that stay. */
	added?: RecordedLoad;
}

export function recordOfDay(day: LoadDay, run: string): DayRecord {
	const { rows, objects, kept, unfit = {} } = day;
	const names = objects.map(nameOf);
	const added = { objects: names, rows, unfit, run };
	if (!kept) return { added: { ...added, objects: recordedNames(day) } };
	const { renamed } = kept;
	const stays = { objects: renamed!, rows: kept.rows, unfit: kept.unfit };
	return {
		...(renamed && { stays: { ...stays, run: "" } }),
		...(names.length > 0 && { added }),
	};
}

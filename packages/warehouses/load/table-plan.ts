import { createHash } from "node:crypto";
import {
	type FoundColumnType,
	foundColumnTypes,
	type LoadInput,
	type Strategy,
	type TableColumn,
} from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../contracts/utc-date.ts";
import { type TableComment, writeComment } from "./columns.ts";
import {
	type HeldDate,
	type LoadDay,
	nameOf,
	type RecordedLoad,
	recordedNames,
} from "./load-day.ts";
import {
	type FoundTable,
	markAfter,
	markDuring,
	ownerOf,
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
	/** The record until now of rows that stay, if that is another one: its entries go on as {@link takenOver}. */
	former: string | undefined;
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
	const named = replaces ? undefined : use?.mark?.record;
	const former = record === undefined || named === record ? undefined : named;
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
		former,
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

/**
 * In the entries of a record: they were another one's, which the table had before. They name the objects of rows that were filled
 * otherwise and that no load has replaced since.
 */
export function takenOver(record: string): string {
	return `${record}${takenOverMark}`;
}

const takenOverMark = "~";

export function isTakenOver(record: string): boolean {
	return record.endsWith(takenOverMark);
}

/** What the entries of a table with this record are named: its own, and those that it has taken over. */
export function recordNames(record: string): [string, string] {
	return [record, takenOver(record)];
}

/** What a date holds; undefined if that was forgotten. @param isOld Whether earlier builds have forgotten such a date. */
export type HeldOn = (
	date: UtcDate,
	isOld: boolean,
) => HeldDate | undefined | Promise<HeldDate | undefined>;

/**
 * What a table holds of the manifest's dates; undefined if it has no record about this Source. Also of a table that is replaced, and by a
 * record about other columns or another filter: it still names the objects that rows come from. Throws the {@link JobFailure} with which
 * the load would refuse the table.
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
		isFilledOtherwise: boolean,
	) => Promise<HeldOn | undefined>,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	if (!existing) return undefined;
	const use = useOfTable(type, input, manifest, existing);
	const { mark } = type.found(existing, input, manifest);
	if (ownerOf(mark, input, manifest) !== "Ours") return undefined;
	if (mark?.record === undefined) return undefined;
	if (!hasDates(existing, input.table)) return undefined;
	const isOther =
		use.replaces ||
		newColumns(existing.columns, input.table.columns).length > 0 ||
		recordOf(type, input, manifest, mark) !== mark.record;
	const dates = manifest.dates.map(({ date }) => date);
	const held = new Map<UtcDate, HeldDate>();
	if (dates.length === 0) return held;
	const heldOn = await read(existing, mark.record, dates, isOther);
	if (!heldOn) return undefined;
	const oldest = oldestRecorded(manifest);
	for (const date of dates) {
		const found = await heldOn(date, date < oldest);
		if (found)
			held.set(date, {
				...found,
				...(isOther && { isFilledOtherwise: true }),
				...(use.replaces && { isReplaced: true }),
			});
	}
	return held;
}

/** Somebody may have dropped the column by which dates are read, or given it another type, in a table that is rebuilt therefore. */
function hasDates(
	{ columns }: CommentedTable,
	table: LoadInput["table"],
): boolean {
	const own = table.columns.find(({ from }) => from === "Date")?.name ?? "date";
	return columns.some(
		({ name, type }) =>
			name.toLowerCase() === own.toLowerCase() && isDateType(type),
	);
}

/** Every warehouse has the type under this name. */
export function isDateType(type: string): boolean {
	return type.toLowerCase() === "date";
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

/** A column of the existing table, with its type in the warehouse's terms. */
export interface ExistingColumn {
	name: string;
	type: string;
	comment?: string | null;
}

/** A column to load, with the type that the table must have for it. */
export type WantedColumn = TableColumn & { type: string };

/**
 * Why a table can't take these columns, in words that follow "Table x is incompatible: "; undefined when it can.
 * A table made for another purpose must never lose a row to a load, and one of ours must never lose its old days:
 *
 * - a column that both have must have our type, but for one that load has found, in a table that is replaced: see {@link fitColumns};
 * - FullReload replaces the table, so the table may hold only columns that the load fills;
 * - Incremental keeps other days. It adds any column but the date, by which it knows the days; a column is NULL for the days
 *   before those that it loads. A table that no load has marked must have those that the Pipeline's tables begin with,
 *   or it may be somebody's that only looks like one.
 *
 * @param isMarked Whether loads have filled the table.
 */
export function incompatibility(
	existing: ExistingColumn[],
	columns: WantedColumn[],
	strategy: Strategy,
	isMarked: boolean,
): string | undefined {
	const mayAdd = ({ from }: WantedColumn) =>
		isMarked
			? from !== "Date"
			: typeof from === "object" ||
				["Violations", "LoadedAt", "Run"].includes(from);
	const types = new Map(
		existing.map(({ name, type }) => [name.toLowerCase(), type]),
	);
	for (const column of columns) {
		const { name, type } = column;
		const present = types.get(name.toLowerCase());
		const isReplaced = column.isFound && strategy === "FullReload";
		if (present !== undefined && present !== type && !isReplaced)
			return `its column "${name}" has type ${present}, but the load needs ${type}`;
		if (present === undefined && strategy === "Incremental" && !mayAdd(column))
			return `it has no column "${name}"`;
	}
	if (strategy === "Incremental") return undefined;
	const wanted = new Set(columns.map(({ name }) => name.toLowerCase()));
	const other = existing.find(({ name }) => !wanted.has(name.toLowerCase()));
	return other && `a full reload would drop its column "${other.name}"`;
}

/**
 * Whether the table's columns have the names and types of those that are wanted of them, so that rows can change where they are. Columns
 * that load has found may get another type, by a table in its place.
 */
export function fits(
	existing: readonly ExistingColumn[],
	wanted: readonly WantedColumn[],
): boolean {
	return wanted.every(({ name, type }) =>
		existing.every(
			(other) =>
				other.name.toLowerCase() !== name.toLowerCase() ||
				(other.name === name && other.type === type),
		),
	);
}

/** The columns that a table has, and the types that it would have for others. */
export interface TableTypes {
	existing: ExistingColumn[];
	wanted(columns: TableColumn[]): WantedColumn[];
}

/** What a table of today makes of the columns that load has found. */
interface FittedColumns {
	/** Without those that the table can't have, since its own of the name has a type that no such column has. */
	columns: TableColumn[];
	/** The types that the table has for some of them, by pointer. `columns` have them. */
	retyped: Record<string, FoundColumnType>;
	/** What the table can't have. */
	leftOut: ExistingColumn[];
}

/** Columns that load has found never make a table incompatible: they take the table's types, or are left out. */
export function fitColumns(
	{ existing, wanted }: TableTypes,
	columns: readonly TableColumn[],
	strategy: Strategy,
): FittedColumns {
	const fitted: FittedColumns = { columns: [], retyped: {}, leftOut: [] };
	const typeOf = (column: TableColumn) => wanted([column])[0]!.type;
	for (const column of columns) {
		const { name, from, isFound } = column;
		const present = existing.find(
			(other) => other.name.toLowerCase() === name.toLowerCase(),
		);
		const isBody = typeof from === "object" && "bodyPointer" in from;
		const is = (column: TableColumn) =>
			present?.name === name && present.type === typeOf(column);
		if (!isFound || !isBody || !present || is(column)) {
			fitted.columns.push(column);
			continue;
		}
		const { bodyPointer } = from;
		// Where the table has one type for two of them, the first.
		const type = foundColumnTypes.find((type) =>
			is({ ...column, from: { bodyPointer, type } as typeof from }),
		);
		if (type) {
			fitted.retyped[bodyPointer] = type;
			fitted.columns.push({
				...column,
				from: { ...from, type } as typeof from,
			});
		} else if (strategy === "FullReload") fitted.columns.push(column);
		else fitted.leftOut.push(present);
	}
	return fitted;
}

/** The columns that an existing table doesn't have yet. */
export function newColumns<Column extends { name: string }>(
	existing: ExistingColumn[],
	columns: Column[],
): Column[] {
	const present = new Set(existing.map(({ name }) => name.toLowerCase()));
	return columns.filter(({ name }) => !present.has(name.toLowerCase()));
}

/** Whether the rows that a table holds lack values of the columns that it gets. */
export function lacksValues(added: readonly TableColumn[]): boolean {
	return added.some(({ isFound }) => !isFound);
}

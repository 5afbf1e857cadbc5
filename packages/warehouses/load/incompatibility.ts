import {
	type FoundColumnType,
	foundColumnTypes,
	type Strategy,
	type TableColumn,
} from "../../contracts/job.ts";

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
export interface FittedColumns {
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

import type { Strategy, TableColumn } from "../../contracts/job.ts";

/** A column of the existing table, with its type in the warehouse's terms. */
export interface ExistingColumn {
	name: string;
	type: string;
}

/** A column to load, with the type that the table must have for it. */
export type WantedColumn = TableColumn & { type: string };

/**
 * Why a table can't take these columns, in words that follow "Table x is incompatible: "; undefined when it can.
 * A table made for another purpose must never lose a row to a load, and one of ours must never lose its old days:
 *
 * - a column that both have must have our type;
 * - FullReload replaces the table, so the table may hold only columns that the load fills;
 * - Incremental keeps other days, so it adds only columns without which events are whole: those of captured headers, of
 *   values in the body and of violations. They are NULL for the days before those that it loads.
 */
export function incompatibility(
	existing: ExistingColumn[],
	columns: WantedColumn[],
	strategy: Strategy,
): string | undefined {
	const types = new Map(
		existing.map(({ name, type }) => [name.toLowerCase(), type]),
	);
	for (const column of columns) {
		const { name, type } = column;
		const present = types.get(name.toLowerCase());
		if (present !== undefined && present !== type)
			return `its column "${name}" has type ${present}, but the load needs ${type}`;
		if (present === undefined && strategy === "Incremental" && !isExtra(column))
			return `it has no column "${name}"`;
	}
	if (strategy === "Incremental") return undefined;
	const wanted = new Set(columns.map(({ name }) => name.toLowerCase()));
	const other = existing.find(({ name }) => !wanted.has(name.toLowerCase()));
	return other && `a full reload would drop its column "${other.name}"`;
}

function isExtra({ from }: WantedColumn): boolean {
	return typeof from === "object" || from === "Violations";
}

/** The columns that an existing table doesn't have yet. */
export function newColumns<Column extends { name: string }>(
	existing: ExistingColumn[],
	columns: Column[],
): Column[] {
	const present = new Set(existing.map(({ name }) => name.toLowerCase()));
	return columns.filter(({ name }) => !present.has(name.toLowerCase()));
}

import type { Strategy, TableColumn } from "../../contracts/job.ts";

/** A column of a table as the warehouse has it, the type in the warehouse's words. */
export interface ExistingColumn {
	name: string;
	type: string;
}

/** A column that is loaded, with the type that the warehouse must have for it. */
export type WantedColumn = TableColumn & { type: string };

/**
 * Why a table can't take these columns as it stands, in words that finish "Table x can't take this load: …"; undefined
 * when it can. A table that somebody made for something else must never lose a row to us, nor one of ours its old days:
 *
 * - a column that both have has the type we give it;
 * - FullReload replaces the table, so everything in it must be something we load;
 * - Incremental keeps other days, so it adds only columns of captured headers (older events truly have none).
 */
export function misfit(
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
			return `its column "${name}" is ${present} where ${type} is loaded`;
		if (
			present === undefined &&
			strategy === "Incremental" &&
			typeof column.from === "string"
		)
			return `it has no column "${name}"`;
	}
	if (strategy === "Incremental") return undefined;
	const wanted = new Set(columns.map(({ name }) => name.toLowerCase()));
	const stranger = existing.find(({ name }) => !wanted.has(name.toLowerCase()));
	return stranger && `a full reload would drop its column "${stranger.name}"`;
}

import type { KeptRows } from "../../../packages/warehouses/load/load-day.ts";

/** How many rows of a day a Run inserts, or an earlier attempt of it that died before it could say so has. */
export function addedRows(
	run: string,
	{ rows, kept }: { rows: number; kept?: KeptRows },
): number {
	const { loads = [] } = kept?.held ?? {};
	return loads.reduce(
		(sum, load) => sum + (load.run === run ? load.rows : 0),
		rows,
	);
}

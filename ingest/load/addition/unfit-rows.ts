import {
	maxUnfitColumns,
	type UnfitValues,
} from "../../../packages/contracts/job.ts";

import type { UnfitRows } from "../../../packages/warehouses/load/load-day.ts";

export function addUnfit(counts: Iterable<UnfitRows>): UnfitRows {
	const sum: Record<string, number> = {};
	for (const count of counts)
		for (const [column, rows] of Object.entries(count))
			sum[column] = (sum[column] ?? 0) + rows;
	return sum;
}

/** For a Job's result: the columns with such values. */
export function unfitValues(count: UnfitRows): UnfitValues[] {
	return Object.entries(count)
		.map(([column, rows]) => ({ column, rows }))
		.filter(({ rows }) => rows > 0)
		.sort((a, b) => b.rows - a.rows)
		.slice(0, maxUnfitColumns);
}

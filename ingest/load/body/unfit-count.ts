import type { TableColumn } from "../../../packages/contracts/job.ts";
import { quoteName } from "../../../packages/duckdb/quoting.ts";
import type { Session } from "../../../packages/duckdb/session.ts";
import {
	bodyColumnsOf,
	bodyValueSql,
	eventRows,
} from "../../../packages/warehouses/load/body-value.ts";
import type { UnfitRows } from "../../../packages/warehouses/load/load-day.ts";

/** Counts the values of the body in these files that don't fit their columns. */
export async function countUnfit(
	columns: readonly TableColumn[],
	files: string[],
	session: Session,
): Promise<UnfitRows> {
	const fromBody = bodyColumnsOf(columns);
	if (fromBody.length === 0 || files.length === 0) return {};
	const counts = fromBody.map(({ name, from }, number) => {
		const { isUnfit } = bodyValueSql(from, number);
		return `count(*) FILTER (${isUnfit}) AS ${quoteName(name)}`;
	});
	const [found = {}] = await session.rows<Record<string, bigint>>(
		`SELECT ${counts.join(", ")} FROM ${eventRows(files, fromBody)}`,
	);
	return Object.fromEntries(
		Object.entries(found)
			.map(([name, rows]) => [name, Number(rows)] as const)
			.filter(([, rows]) => rows > 0),
	);
}

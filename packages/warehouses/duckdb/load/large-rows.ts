import type { TableColumn } from "../../../contracts/job.ts";
import { vectorRows } from "../../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { isRest } from "../../load/body-value.ts";
import type { DayObject } from "../../load/load-day.ts";

/*
 * DuckDB reads and writes a column in vectors of 2,048 rows, and keeps all long texts of a vector in memory. The only bound is
 * the group of rows that a vector is in: DuckDB puts up to 122,880 rows into one, and knows no bound in bytes.
 */

type SizedObject = Pick<DayObject, "rows" | "bodyBytes" | "file">;

/** The most bytes that a vector of these objects' rows may have, whatever order the rows are in. */
export function vectorBytes(
	objects: readonly SizedObject[],
	columns: readonly TableColumn[],
): number {
	const sized = objects
		.filter(({ rows }) => rows > 0)
		.map(({ rows, bodyBytes = 0 }) => ({ rows, mean: bodyBytes / rows }))
		.sort((a, b) => b.mean - a.mean);
	let left = vectorRows;
	let bytes = 0;
	for (const { rows, mean } of sized) {
		const taken = Math.min(left, rows);
		bytes += taken * mean;
		left -= taken;
	}
	return bytes * bodiesIn(columns);
}

/**
 * How many bodies the columns of a row may hold. What load has found are members beside each other, so all of them hold one at most, and
 * so do texts on the way to them.
 */
function bodiesIn(columns: readonly TableColumn[]): number {
	const all = columns.filter(mayHoldBody);
	const found = all.filter(({ from, isFound }) => isFound || isRest(from));
	return all.length - found.length + Math.min(found.length, 3);
}

/** JSON and text of the body can be as long as the body. */
function mayHoldBody({ from }: TableColumn): boolean {
	return (
		from === "Body" ||
		(typeof from === "object" &&
			"bodyPointer" in from &&
			(from.type === "String" || from.type === "JSON"))
	);
}

/** Of the rows that come into one group. */
export const sliceBytes = 16 * 1024 ** 2;

/** The objects in lists of about so many bytes of bodies, in their order. One object is never divided. */
export function slicesOf<Sized extends SizedObject>(
	objects: readonly Sized[],
	sliceBytes: number,
): Sized[][] {
	const slices: Sized[][] = [];
	let bytes = Number.POSITIVE_INFINITY;
	for (const object of objects) {
		const { bodyBytes = 0 } = object;
		if (bytes + bodyBytes > sliceBytes) {
			slices.push([]);
			bytes = 0;
		}
		slices.at(-1)!.push(object);
		bytes += bodyBytes;
	}
	return slices;
}

/** Consecutive rows of a table that stand in one of its groups. */
export interface TableRowGroup {
	rows: number;
	/** Of long texts. */
	bytes: number;
}

/** By the blocks that hold their long texts. @param table Its name, quoted. */
export async function rowGroupsOf(
	table: string,
	session: Session,
): Promise<TableRowGroup[]> {
	const found = await session.rows<{ rows: bigint; blocks: bigint }>(
		`SELECT max(rows)::BIGINT AS rows, sum(blocks)::BIGINT AS blocks FROM` +
			` (SELECT row_group_id, column_id, sum(count) FILTER (segment_type <> 'VALIDITY') AS rows,` +
			` sum(len(additional_block_ids)) AS blocks FROM pragma_storage_info(${quoteText(table)}) GROUP BY ALL)` +
			` GROUP BY row_group_id ORDER BY row_group_id`,
	);
	return found.map(({ rows, blocks }) => ({
		rows: Number(rows),
		bytes: Number(blocks ?? 0) * blockBytes,
	}));
}

const blockBytes = 262_144;

/**
 * Keeps a checkpoint from merging groups of few rows into one whose vectors don't fit into memory, if a table of the file has
 * such rows. Groups without rows go all the same.
 */
export async function keepLargeRowsApart(
	room: number,
	session: Session,
): Promise<void> {
	const [size] = await session.rows<{ blocks: bigint }>(
		"SELECT used_blocks AS blocks FROM pragma_database_size() WHERE database_name = current_database()",
	);
	const used = Number(size?.blocks) * blockBytes;
	if (used < room) return;
	const tables = await session.rows<{
		schema: string;
		name: string;
		rows: bigint;
	}>(
		"SELECT schema_name AS schema, table_name AS name, estimated_size AS rows" +
			" FROM duckdb_tables() WHERE database_name = current_database()",
	);
	for (const { schema, name, rows } of tables) {
		// Most tables can't have such rows, since they have too many for the file.
		if ((used / Math.max(1, Number(rows))) * vectorRows < room) continue;
		const table = `${quoteName(schema)}.${quoteName(name)}`;
		const groups = await rowGroupsOf(table, session);
		const isLarge = groups.some(
			({ rows, bytes }) => (bytes / rows) * vectorRows > room,
		);
		if (isLarge) return void (await session.run("SET max_vacuum_tasks = 0"));
	}
}

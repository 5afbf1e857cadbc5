import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { newColumns } from "../../load/incompatibility.ts";
import type { HeldDate } from "../../load/load-day.ts";
import { recordOf, recordTable } from "./load-record.ts";
import { duckDBUse, type ExistingTable } from "./plan.ts";

/**
 * What the table holds of the manifest's dates; undefined if it has no record about these columns and this Source. Throws
 * the {@link JobFailure} with which the load would refuse the table.
 */
export async function heldDates(
	input: LoadInput,
	manifest: Manifest,
	existing: ExistingTable | undefined,
	session: Session,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const mark = existing && duckDBUse(input, manifest, existing).mark;
	if (mark?.record === undefined) return undefined;
	const added = newColumns(existing!.columns, input.table.columns);
	if (added.length > 0) return undefined;
	if (recordOf(input, manifest, mark) !== mark.record) return undefined;
	if (!(await hasRecords(session))) return undefined;
	const dates = manifest.dates.map(({ date }) => date);
	const [first, last] = [dates[0], dates.at(-1)];
	if (first === undefined || last === undefined) return new Map();
	const between = `date BETWEEN DATE ${quoteText(first)} AND DATE ${quoteText(last)}`;
	const counted = await session.rows<{ date: string; rows: bigint }>(
		`SELECT date::VARCHAR AS date, count(*) AS rows FROM ${quoteName(input.table.name)} WHERE ${between} GROUP BY ALL`,
	);
	const loads = await session.rows<{
		date: string;
		objects: string;
		rows: bigint;
		unfit: string | null;
		run: string;
	}>(
		`SELECT date::VARCHAR AS date, array_to_string(objects, chr(10)) AS objects, rows, unfit, run FROM ${recordTable}` +
			` WHERE record = ${quoteText(mark.record)} AND lower(table_name) = lower(${quoteText(input.table.name)})` +
			` AND ${between} ORDER BY loaded, run, objects`,
	);
	const rowsOf = new Map(counted.map(({ date, rows }) => [date, Number(rows)]));
	const loadsOf = Map.groupBy(loads, ({ date }) => date);
	return new Map(
		dates.map((date) => [
			date,
			{
				rows: rowsOf.get(date) ?? 0,
				loads: (loadsOf.get(date) ?? []).map(
					({ objects, rows, unfit, run }) => ({
						objects: objects.split("\n"),
						rows: Number(rows),
						unfit: unfit === null ? {} : JSON.parse(unfit),
						run,
					}),
				),
			},
		]),
	);
}

/** Who dropped it only costs the next Run a replacement of its days. */
async function hasRecords(session: Session): Promise<boolean> {
	const [schema, table] = recordTable.split(".") as [string, string];
	const found = await session.rows(
		`SELECT 1 AS one FROM duckdb_tables() WHERE database_name = current_database()` +
			` AND schema_name = ${quoteText(schema)} AND table_name = ${quoteText(table)}`,
	);
	return found.length > 0;
}

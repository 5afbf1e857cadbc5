import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { newColumns } from "../../load/incompatibility.ts";
import type { HeldDate } from "../../load/load-day.ts";
import { oldestRecorded } from "../../load/load-record.ts";
import { firstNoted, type KnownDates } from "./known-dates.ts";
import {
	datesSql,
	digestSql,
	digestTable,
	recordedLoads,
	recordOf,
	recordTable,
} from "./load-record.ts";
import { type DuckDBTable, duckDBUse } from "./plan.ts";

/**
 * What the table holds of the manifest's dates; undefined if it has no record about these columns and this Source. Throws
 * the {@link JobFailure} with which the load would refuse the table.
 */
export async function heldDates(
	input: LoadInput,
	manifest: Manifest,
	existing: DuckDBTable | undefined,
	session: Session,
	known: KnownDates,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const mark = existing && duckDBUse(input, manifest, existing).mark;
	if (mark?.record === undefined) return undefined;
	const added = newColumns(existing!.columns, input.table.columns);
	if (added.length > 0) return undefined;
	if (recordOf(input, manifest, mark) !== mark.record) return undefined;
	if (!(await hasRecords(session))) return undefined;
	const dates = manifest.dates.map(({ date }) => date);
	if (dates.length === 0) return new Map();
	const { name } = input.table;
	const onDates = `date IN (${datesSql(dates)})`;
	const counts = await session.rows<{ date: string; rows: bigint }>(
		`SELECT date::VARCHAR AS date, count(*) AS rows FROM ${quoteName(name)} WHERE ${onDates} GROUP BY ALL`,
	);
	const onRecord = `record = ${quoteText(mark.record)} AND lower(table_name) = lower(${quoteText(name)}) AND ${onDates}`;
	const loadsOf = await recordedLoads(name, mark.record, onDates, session);
	const digests = await session.rows<{ date: string; digest: string }>(
		`SELECT date::VARCHAR AS date, digest FROM ${digestTable} WHERE ${onRecord} AND engine = version()`,
	);
	const digestOf = new Map(digests.map(({ date, digest }) => [date, digest]));
	const rowsOf = new Map(counts.map(({ date, rows }) => [date, rows]));
	const isKnown = (date: UtcDate) =>
		digestOf.has(date) && known.has(name, date);
	const unknown = dates.filter((date) => rowsOf.has(date) && !isKnown(date));
	const found = new Map(await readDigests(input.table, unknown, session));
	const oldest = oldestRecorded(manifest);
	const held = new Map<UtcDate, HeldDate>();
	const same: UtcDate[] = [];
	for (const date of dates) {
		const rows = rowsOf.get(date) ?? 0n;
		const recorded = digestOf.get(date);
		const digest = isKnown(date) ? recorded! : (found.get(date) ?? "0");
		const loads = loadsOf.get(date) ?? [];
		const isNew = loads.length === 0 && (date >= oldest || rows === 0n);
		const loadedDigest = recorded ?? (isNew ? "0" : undefined);
		// What is in it was forgotten, or is known by another engine's hash.
		if (loadedDigest === undefined) continue;
		if (digest === recorded) same.push(date);
		held.set(date, { rows: Number(rows), digest, loadedDigest, loads });
	}
	known.add(name, same, firstNoted(manifest));
	return held;
}

async function readDigests(
	{ name, columns }: LoadInput["table"],
	dates: readonly UtcDate[],
	session: Session,
): Promise<(readonly [UtcDate, string])[]> {
	if (dates.length === 0) return [];
	const found = await session.rows<{ date: string; digest: string }>(
		`SELECT date::VARCHAR AS date, ${digestSql(columns)} AS digest FROM ${quoteName(name)}` +
			` WHERE date IN (${datesSql(dates)}) GROUP BY ALL`,
	);
	return found.map(({ date, digest }) => [date, digest]);
}

/** Who dropped one only costs the next Run a replacement of its days. */
async function hasRecords(session: Session): Promise<boolean> {
	const names = [recordTable, digestTable].map(quoteText).join(", ");
	const found = await session.rows(
		`SELECT 1 AS one FROM duckdb_tables() WHERE database_name = current_database()` +
			` AND schema_name || '.' || table_name IN (${names})`,
	);
	return found.length === 2;
}

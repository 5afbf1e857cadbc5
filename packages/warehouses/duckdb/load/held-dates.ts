import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { HeldDate } from "../../load/load-day.ts";
import { heldDates } from "../../load/table-plan.ts";
import { firstNoted, type KnownDates } from "./known-dates.ts";
import {
	datesSql,
	digestTable,
	recordedLoads,
	recordTable,
} from "./load-record.ts";
import { type DuckDBTable, duckDBTables } from "./plan.ts";
import { digestSql } from "./row-digest.ts";

/** See {@link heldDates}. */
export async function duckDBHeld(
	input: LoadInput,
	manifest: Manifest,
	existing: DuckDBTable | undefined,
	session: Session,
	known: KnownDates,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const { name } = input.table;
	const same: UtcDate[] = [];
	const read = async (_: DuckDBTable, record: string, dates: UtcDate[]) => {
		if (!(await hasRecords(session))) return undefined;
		const onDates = `date IN (${datesSql(dates)})`;
		const counts = await session.rows<{ date: string; rows: bigint }>(
			`SELECT date::VARCHAR AS date, count(*) AS rows FROM ${quoteName(name)} WHERE ${onDates} GROUP BY ALL`,
		);
		const onRecord = `record = ${quoteText(record)} AND lower(table_name) = lower(${quoteText(name)}) AND ${onDates}`;
		const loadsOf = await recordedLoads(name, record, onDates, session);
		const digests = await session.rows<{ date: string; digest: string }>(
			`SELECT date::VARCHAR AS date, digest FROM ${digestTable} WHERE ${onRecord} AND engine = version()`,
		);
		const digestOf = new Map(digests.map(({ date, digest }) => [date, digest]));
		const rowsOf = new Map(counts.map(({ date, rows }) => [date, rows]));
		const isKnown = (date: UtcDate) =>
			digestOf.has(date) && known.has(name, date);
		const unknown = dates.filter((date) => rowsOf.has(date) && !isKnown(date));
		const found = new Map(await readDigests(input.table, unknown, session));
		return (date: UtcDate, isOld: boolean) => {
			const rows = rowsOf.get(date) ?? 0n;
			const recorded = digestOf.get(date);
			const digest = isKnown(date) ? recorded! : (found.get(date) ?? "0");
			const loads = loadsOf.get(date) ?? [];
			const isNew = loads.length === 0 && (!isOld || rows === 0n);
			const loadedDigest = recorded ?? (isNew ? "0" : undefined);
			// What is in it was forgotten, or is known by another engine's hash.
			if (loadedDigest === undefined) return undefined;
			if (digest === recorded) same.push(date);
			return { rows: Number(rows), digest, loadedDigest, loads };
		};
	};
	const held = await heldDates(duckDBTables, input, manifest, existing, read);
	if (held) known.add(name, same, firstNoted(manifest));
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

import { isDeepStrictEqual } from "node:util";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import {
	type HeldDate,
	joinedLoad,
	type LoadDay,
	type RecordedLoad,
	rowsOf,
	type UnfitRows,
} from "../../load/load-day.ts";
import {
	isTakenOver,
	oldestRecorded,
	recordNames,
	recordOfDay,
	takenOver,
} from "../../load/table-plan.ts";
import { TableChanged } from "../../load/warehouse.ts";
import { dayOf, findTable, nameOf, type Partition } from "./catalog.ts";
import type { Transaction } from "./database.ts";
import { lock, lockAlone } from "./swap.ts";

/**
 * Which objects a date's rows come from, for all tables of the schema. It changes in the rows' transaction. Without it, Runs
 * replace their days.
 */
export const recordTable = "_tidemill_loads";

/** Makes it: in a transaction of its own, since all Runs of the schema wait for it, and then only if it isn't there or lacks something. */
export async function prepareRecord(
	transaction: Transaction,
	schema: string,
): Promise<void> {
	if ((await recordChanges(transaction, schema)).length === 0) return;
	const name = nameOf(schema, recordTable);
	await lock(transaction, name);
	for (const sql of await recordChanges(transaction, schema)) {
		if (sql.startsWith("ALTER")) await lockAlone(transaction, name);
		await transaction.run(sql);
	}
}

/** A publication of all tables refuses to delete rows of a table that has no replica identity. Only its owner can give it one. */
async function recordChanges(
	transaction: Transaction,
	schema: string,
): Promise<string[]> {
	const name = nameOf(schema, recordTable);
	const identity = `ALTER TABLE ${name} REPLICA IDENTITY FULL`;
	if (!(await hasRecord(transaction, schema)))
		return [
			`CREATE TABLE ${name} (table_name text, record text, date date, run text, objects text[], rows bigint,
				unfit jsonb, xid xid, xids xid[], changes text, loaded timestamptz DEFAULT clock_timestamp());
			COMMENT ON TABLE ${name} IS 'Which objects the rows of tables come from. Tidemill keeps it; without it, Runs replace their days.'`,
			identity,
		];
	const [found] = await transaction.rows<{ isFull: boolean }>(
		`SELECT relreplident = 'f' OR NOT pg_has_role(relowner, 'USAGE') AS "isFull" FROM pg_class WHERE oid = to_regclass($1)`,
		[name],
	);
	return found?.isFull === false ? [identity] : [];
}

async function hasRecord(
	transaction: Transaction,
	schema: string,
): Promise<boolean> {
	const [found] = await transaction.rows<{ isThere: boolean }>(
		`SELECT to_regclass($1) IS NOT NULL AS "isThere"`,
		[nameOf(schema, recordTable)],
	);
	return found!.isThere;
}

/** A table, and what its record's entries about it have. */
export interface RecordedTable {
	schema: string;
	table: string;
	record: string;
}

/** A load of a date, with the transaction that inserted its rows: several of a date that {@link tidyRecord} has tidied. */
interface RecordEntry extends RecordedLoad {
	xids: string[];
	record: string;
	/** What {@link changesSql} said when it had ended. */
	changes: string | null;
}

export async function recordedLoads(
	transaction: Transaction,
	{ schema, table, record }: RecordedTable,
	dates: readonly UtcDate[],
): Promise<Map<UtcDate, RecordEntry[]>> {
	if (!(await hasRecord(transaction, schema))) return new Map();
	const found = await transaction.rows<
		Omit<RecordEntry, "rows" | "unfit"> & {
			date: UtcDate;
			rows: string;
			unfit: UnfitRows;
		}
	>(
		`SELECT date::text AS date, objects, rows::text AS rows, unfit, run, (xid || xids)::text[] AS xids, changes, record
		FROM ${nameOf(schema, recordTable)}
		WHERE table_name = $1 AND record = ANY($2) AND date = ANY($3::date[]) ORDER BY loaded`,
		[table, recordNames(record), dates],
	);
	return Map.groupBy(
		found.map((entry) => ({ ...entry, rows: Number(entry.rows) })),
		({ date }) => date,
	);
}

/**
 * How often rows of a partition were inserted, updated and deleted, as Postgres counts, and in which file they are: of each that it is
 * partitioned into, since only these have rows. As long as it says the same, nobody has changed a row. Postgres counts attempts that
 * failed, too, and forgets all after a crash, so another text says nothing; neither does NULL, where it counts nothing.
 */
export function changesSql(oid: string): string {
	return countedSql(oid, (what) => `pg_stat_get_tuples_${what}(relid)`);
}

/** What {@link changesSql} will say when the transaction has ended. */
export function changesAfterSql(oid: string): string {
	return countedSql(
		oid,
		(what) =>
			`pg_stat_get_tuples_${what}(relid) + pg_stat_get_xact_tuples_${what}(relid)`,
	);
}

function countedSql(oid: string, count: (what: string) => string): string {
	const counts = ["inserted", "updated", "deleted"].map(count).join(", ");
	return `(SELECT string_agg(concat_ws(' ', relid::oid, pg_relation_filenode(relid), ${counts}), ', ' ORDER BY relid)
		FROM pg_partition_tree(${oid}::oid::regclass) WHERE isleaf AND current_setting('track_counts') = 'on')`;
}

/**
 * What a date of a table holds. A row tells which transaction inserted or changed it (its system column xmin), so rows of other
 * transactions than recorded ones are somebody else's, and nothing needs to be hashed.
 */
export async function heldDate(
	transaction: Transaction,
	partition: Partition | undefined,
	entries: readonly RecordEntry[],
	isOld: boolean,
): Promise<HeldDate | undefined> {
	const held = {
		loadedDigest: ours,
		loads: entries.map(
			({ xids: _, changes: __, record: ___, ...load }) => load,
		),
		...(entries.some(({ record }) => isTakenOver(record)) && {
			isFilledOtherwise: true as const,
		}),
	};
	if (!partition) return { ...held, rows: 0, digest: ours };
	const changes = entries.at(-1)?.changes;
	const [now] = await transaction.rows<{ changes: string }>(
		`SELECT ${changesSql(partition.oid)} AS changes`,
	);
	if (changes && now!.changes === changes)
		return { ...held, rows: rowsOf(held.loads), digest: ours };
	const [found] = await transaction.rows<{ rows: string; others: string }>(
		`SELECT count(*)::text AS rows, count(*) FILTER (WHERE NOT xmin = ANY($1::xid[]))::text AS others FROM ${partition.name}`,
		[entries.flatMap(({ xids }) => xids)],
	);
	const rows = Number(found!.rows);
	if (entries.length === 0 && isOld && rows > 0) return undefined;
	const digest =
		found!.others === "0" ? ours : `${found!.others} rows of others`;
	return { ...held, rows, digest };
}

/** Lets a record take over the entries of the one that the table had before. */
export async function takeOver(
	transaction: Transaction,
	{ schema, table, record }: RecordedTable,
	former: string,
): Promise<void> {
	if (!(await hasRecord(transaction, schema))) return;
	await transaction.run(
		`UPDATE ${nameOf(schema, recordTable)} SET record = $2 WHERE table_name = $1 AND record = ANY($3)`,
		[table, takenOver(record), recordNames(former)],
	);
}

/** Throws {@link TableChanged} if the rows that a day keeps aren't what they were. */
export async function requireHeld(
	transaction: Transaction,
	about: RecordedTable,
	manifest: Manifest,
	{ date, kept }: LoadDay,
	partition: Partition | undefined,
): Promise<void> {
	const loads = await recordedLoads(transaction, about, [date]);
	const held = await heldDate(
		transaction,
		partition,
		loads.get(date) ?? [],
		date < oldestRecorded(manifest),
	);
	if (!isDeepStrictEqual(held, kept!.held)) throw new TableChanged(about.table);
}

/**
 * How many rows a table has on all dates, after a load. Of the days that were loaded, and of those that nobody changed since, the
 * record says it: counting a day takes as long as reading it.
 */
export async function rowsOfTable(
	transaction: Transaction,
	schema: string,
	table: string,
	days: readonly Pick<LoadDay, "date">[],
): Promise<number> {
	const existing = await findTable(transaction, schema, table);
	const partitions = (
		await transaction.rows<
			Partition & { bounds: string; changes: string | null }
		>(
			`SELECT c.oid::text AS oid, format('%I.%I', n.nspname, c.relname) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds, ${changesSql("c.oid")} AS changes
			FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE i.inhparent = $1 AND c.relispartition AND NOT i.inhdetachpending`,
			[existing!.oid],
		)
	).map(({ bounds, ...partition }) => ({ ...partition, date: dayOf(bounds) }));
	const record = existing!.comment.mark?.record ?? "";
	const loads = await recordedLoads(
		transaction,
		{ schema, table, record },
		partitions.flatMap(({ date }) => date ?? []),
	);
	const loaded = new Set(days.map(({ date }) => date));
	const uncounted =
		existing!.partitionKey === undefined
			? [`ONLY ${nameOf(schema, table)}`]
			: [];
	let all = 0;
	for (const { date, name, changes } of partitions) {
		const entries = date ? loads.get(date) : undefined;
		const isUnchanged =
			changes !== null && entries?.at(-1)?.changes === changes;
		if (entries && (loaded.has(date!) || isUnchanged)) all += rowsOf(entries);
		else uncounted.push(name);
	}
	for (const name of uncounted) {
		const [found] = await transaction.rows<{ rows: string }>(
			`SELECT count(*)::text AS rows FROM ${name}`,
		);
		all += Number(found!.rows);
	}
	return all;
}

/** In the place of a digest: no row is of another transaction than those that are recorded. */
const ours = "recorded";

/**
 * Records what a date has, in the transaction that has changed it.
 * @param xids The transactions that wrote the rows of a replaced day that stay.
 */
export async function recordDay(
	transaction: Transaction,
	{ schema, table, record }: RecordedTable,
	{ run }: Pick<Manifest, "run">,
	day: LoadDay,
	partition: Partition | undefined,
	xids: readonly string[],
): Promise<void> {
	const { date, kept } = day;
	const name = nameOf(schema, recordTable);
	const { stays, added } = recordOfDay(day, run);
	if (!kept)
		await transaction.run(
			`DELETE FROM ${name} WHERE table_name = $1 AND date = $2`,
			[table, date],
		);
	else if (stays)
		// The transactions of the rows that stay are still theirs.
		await transaction.run(
			`WITH gone AS (DELETE FROM ${name} WHERE table_name = $1 AND date = $2 RETURNING *),
			kept AS (SELECT xid, xids, rows, unfit, run, changes, loaded, row_number() OVER (ORDER BY loaded) AS number FROM gone)
			INSERT INTO ${name} (table_name, record, date, run, objects, rows, unfit, xid, xids, changes, loaded)
			SELECT $1, $3, $2, run, CASE WHEN number = 1 THEN $4::text[] ELSE '{}' END, rows, unfit, xid, xids, changes, loaded FROM kept`,
			[table, date, record, stays.objects],
		);
	if (!added || added.objects.length === 0) return;
	const changes = partition ? changesAfterSql(partition.oid) : "NULL";
	await transaction.run(
		`INSERT INTO ${name} (table_name, record, date, run, objects, rows, unfit, xid, xids, changes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, pg_current_xact_id()::xid, $8::xid[], ${changes})`,
		[
			table,
			record,
			date,
			run,
			added.objects,
			added.rows,
			JSON.stringify(added.unfit),
			xids.length > 0 ? xids : null,
		],
	);
}

/**
 * Forgets what is about other rows than the table's, and makes one entry of those of each date before `from`: no Run asks any more
 * which of them is whose. So a year of dates takes a row for each, however often somebody ran.
 */
export async function tidyRecord(
	transaction: Transaction,
	{ schema, table, record }: RecordedTable,
	from: UtcDate,
): Promise<void> {
	const name = nameOf(schema, recordTable);
	await transaction.run(
		`DELETE FROM ${name} WHERE table_name = $1 AND record <> ALL($2)`,
		[table, recordNames(record)],
	);
	const several = await transaction.rows<{ date: UtcDate }>(
		`SELECT date::text AS date FROM ${name} WHERE table_name = $1 AND date < $2 GROUP BY date HAVING count(*) > 1`,
		[table, from],
	);
	if (several.length === 0) return;
	const dates = several.map(({ date }) => date);
	const about = { schema, table, record };
	const loads = await recordedLoads(transaction, about, dates);
	for (const [date, entries] of loads) {
		if (entries.some(({ record }) => isTakenOver(record))) continue;
		const { run, objects, rows, unfit } = joinedLoad(entries);
		const [xid, ...xids] = entries.flatMap(({ xids }) => xids);
		await transaction.run(
			`DELETE FROM ${name} WHERE table_name = $1 AND date = $2`,
			[table, date],
		);
		await transaction.run(
			`INSERT INTO ${name} (table_name, record, date, run, objects, rows, unfit, xid, xids, changes)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::xid[], $10)`,
			[
				table,
				record,
				date,
				run,
				objects,
				rows,
				JSON.stringify(unfit),
				xid,
				xids,
				entries.at(-1)!.changes,
			],
		);
	}
}

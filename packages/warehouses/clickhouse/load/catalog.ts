import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { readComment } from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import type { HeldDate } from "../../load/load-day.ts";
import { ownerOf } from "../../load/table-mark.ts";
import { heldDates, takenOver } from "../../load/table-plan.ts";
import type { MarkedTable, RowAccess } from "../../load/warehouse.ts";
import type { Connection } from "./connection.ts";
import { ClickHouseFailure } from "./failure.ts";
import { type ClickHouseTable, clickHouseTables } from "./plan.ts";
import {
	createRecord,
	expiringDates,
	heldByRows,
	heldDate,
	noRows,
	recordedEntries,
	rowsByDate,
} from "./record.ts";
import {
	blankOf,
	columnTTLsOf,
	deletionsOf,
	quoteText,
	type Statements,
	stagingPrefix,
	stagingPrefixOf,
	ttlOf,
} from "./statements.ts";

/** A database, and how to ask it. */
export interface ClickHouse {
	connection: Connection;
	sql: Statements;
}

/** Undefined if there is none. */
export async function findTable(
	server: ClickHouse,
	table: string,
): Promise<ClickHouseTable | undefined> {
	const { connection, sql } = server;
	const { database } = connection.input;
	const where = `WHERE database = ${quoteText(database)}`;
	const [[found], columns] = await Promise.all([
		connection.rows<{
			engine: string;
			comment: string;
			partition_key: string;
			sorting_key: string;
			engine_full: string;
			dependencies_table: string[];
			create_table_query: string;
		}>(
			`SELECT engine, comment, partition_key, sorting_key, engine_full, dependencies_table, create_table_query FROM system.tables ${where} AND name = ${quoteText(table)}`,
		),
		connection.rows<{ name: string; type: string; comment: string }>(
			`SELECT name, type, comment FROM system.columns ${where} AND table = ${quoteText(table)} ORDER BY position`,
		),
	]);
	if (!found) return undefined;
	const {
		engine,
		comment,
		partition_key: partitionKey,
		sorting_key: sortingKey,
		engine_full: engineFull,
		dependencies_table: fedViews,
		create_table_query: create,
	} = found;
	const isTable = engine.endsWith("MergeTree");
	const rows = isTable
		? await connection.rows(`SELECT 1 FROM ${sql.of(table)} LIMIT 1`)
		: [];
	return {
		columns,
		comment: readComment(comment),
		isEmpty: rows.length === 0 && (await hiddenRows(server, table)) === 0,
		engine,
		partitionKey,
		sortingKey,
		ttl: ttlOf(engineFull),
		columnTTLs: columnTTLsOf(create),
		fedViews,
	};
}

/** See {@link heldDates}. */
export function clickHouseHeld(
	{ connection, sql }: ClickHouse,
	existing: ClickHouseTable | undefined,
	input: LoadInput,
	manifest: Manifest,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const { name, columns } = input.table;
	return heldDates(
		clickHouseTables,
		input,
		manifest,
		existing,
		async ({ ttl, columnTTLs }, record, dates, isOther) => {
			await connection.run(createRecord(sql));
			const recorded = (record: string) =>
				recordedEntries(connection, sql, name, record, dates);
			const entries = await recorded(record);
			const former = await recorded(takenOver(record));
			const table = sql.of(name);
			const read = isOther ? [] : columns;
			const rows = await rowsByDate(connection, table, read, dates);
			const [ofRows, ofValues] = await Promise.all(
				[ttl === undefined ? [] : deletionsOf(ttl), columnTTLs].map(
					(deletions) => expiringDates(connection, deletions, columns, dates),
				),
			);
			return (date, isOld) => {
				const found = rows.get(date) ?? noRows;
				const own = entries.get(date) ?? [];
				const before = former.get(date) ?? [];
				const isReplaced = own.some(({ isDone }) => isDone);
				return isOther || (before.length > 0 && !isReplaced)
					? heldByRows(found, [...before, ...own], isOld)
					: heldDate(found, own, isOld, {
							rows: ofRows!.includes(date),
							values: ofValues!.includes(date),
						});
			};
		},
	);
}

/** The tables that loads of the Pipeline have marked, with the columns whose values the server doesn't make itself. */
export async function markedTables(
	server: ClickHouse,
	input: Pick<LoadInput, "run">,
	manifest: Manifest,
	{ removesLeft }: Parameters<RowAccess["tables"]>[0] = {},
): Promise<MarkedTable[]> {
	const { connection } = server;
	const { database } = connection.input;
	const where = `WHERE database = ${quoteText(database)}`;
	const tables = (
		await connection.rows<{ name: string; comment: string }>(
			`SELECT name, comment FROM system.tables ${where} AND endsWith(engine, 'MergeTree') AND comment <> '' AND NOT startsWith(name, ${quoteText(stagingPrefix)}) ORDER BY name`,
		)
	).filter(({ comment }) => {
		const { mark } = readComment(comment);
		return ownerOf(mark, input, manifest) === "Ours";
	});
	if (tables.length === 0) return [];
	// Those of killed loads hold events, and a table that none loads has no next one that drops them.
	if (removesLeft)
		for (const { name } of tables) await dropStaging(server, name);
	const names = tables.map(({ name }) => quoteText(name)).join(", ");
	const columns = await connection.rows<{
		table: string;
		name: string;
		type: string;
		comment: string;
		key: number;
	}>(
		`SELECT table, name, type, comment, is_in_partition_key OR is_in_sorting_key OR is_in_primary_key OR is_in_sampling_key AS key FROM system.columns ${where} AND table IN (${names}) AND default_kind IN ('', 'DEFAULT') ORDER BY position`,
	);
	return tables.map(({ name }) => ({
		name,
		columns: columns
			.filter(({ table }) => table === name)
			.map(({ name, type, comment, key }) => ({
				...{ name, type, comment },
				// No mutation changes a key (clickhouse.com/docs/sql-reference/statements/alter/update).
				blank: key ? undefined : blankOf(type),
			})),
	}));
}

/** The names of a table's parts that somebody has detached. None where the user may not read about them. */
export async function detachedParts(
	{ connection }: ClickHouse,
	table: string,
): Promise<string[]> {
	const { database } = connection.input;
	try {
		const found = await connection.rows<{ name: string }>(
			`SELECT name FROM system.detached_parts WHERE database = ${quoteText(database)} AND table = ${quoteText(table)} ORDER BY name`,
		);
		return found.map(({ name }) => name);
	} catch (error) {
		const isDenied =
			error instanceof JobFailure && error.code === "PermissionDenied";
		if (isDenied) return [];
		throw error;
	}
}

/** Of tables of the database. */
export async function namesWith(
	{ connection }: ClickHouse,
	prefix: string,
): Promise<string[]> {
	const { database } = connection.input;
	const found = await connection.rows<{ name: string }>(
		`SELECT name FROM system.tables WHERE database = ${quoteText(database)} AND startsWith(name, ${quoteText(prefix)})`,
	);
	return found.map(({ name }) => name);
}

/** What earlier attempts and Runs left. One that still runs fails then, and changes nothing. */
export async function dropStaging(
	server: ClickHouse,
	table: string,
): Promise<void> {
	for (const name of await namesWith(server, stagingPrefixOf(table)))
		await server.connection.run(server.sql.drop(name));
}

/**
 * Throws {@link ClickHouseFailure} if a row policy hides rows of a table from the user. What moves or deletes rows goes by no policy,
 * what counts them does.
 */
export async function requireAllSeen(
	server: ClickHouse,
	table: string,
): Promise<void> {
	const hidden = await hiddenRows(server, table);
	if (hidden > 0)
		throw new ClickHouseFailure(
			"RowsHidden",
			`A row policy hides ${hidden} rows of table ${table} from the user`,
		);
}

/** What a table has beyond what a query finds; both with rows that a lightweight DELETE has marked. Others may delete some meanwhile. */
async function hiddenRows(
	{ connection, sql }: ClickHouse,
	table: string,
): Promise<number> {
	const { database } = connection.input;
	const numberOf = async (query: string) => {
		const [found] = await connection.rows<{ rows: string | null }>(query);
		return Number(found?.rows ?? 0);
	};
	const ofTable = () =>
		numberOf(
			`SELECT toString(total_rows) AS rows FROM system.tables WHERE database = ${quoteText(database)} AND name = ${quoteText(table)}`,
		);
	const before = await ofTable();
	if (before === 0) return 0;
	const found = await numberOf(
		`SELECT toString(count()) AS rows FROM ${sql.of(table)} SETTINGS apply_deleted_mask = 0`,
	);
	if (found >= before) return 0;
	return Math.max(0, Math.min(before, await ofTable()) - found);
}

export async function countRows(
	{ connection, sql }: ClickHouse,
	table: string,
	condition?: string,
): Promise<number> {
	const where = condition === undefined ? "" : ` WHERE ${condition}`;
	const [all] = await connection.rows<{ rows: string }>(
		`SELECT toString(count()) AS rows FROM ${sql.of(table)}${where}`,
	);
	return Number(all!.rows);
}

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { addDays, type UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { readComment } from "../../load/columns.ts";
import { sourceKeyOf, type TableMark } from "../../load/table-mark.ts";
import type { CommentedTable, ExistingColumn } from "../../load/table-plan.ts";
import type { MarkedTable } from "../../load/warehouse.ts";
import type { Transaction } from "./database.ts";

/** The table as a transaction finds it. */
export interface PostgresTable extends CommentedTable {
	oid: string;
	isEmpty: boolean;
	/** Such as `view`; undefined for a table. */
	otherKind: string | undefined;
	/** The key of a table that is partitioned, such as `RANGE (date)`. */
	partitionKey: string | undefined;
	/** Name of its default partition. */
	defaultPartition: string | undefined;
	/** Its partitions that aren't those of one day each; absent if nobody has asked. */
	otherPartitions?: RangePartition[];
}

/** Bounds are undefined if they aren't dates. */
export interface RangePartition {
	name: string;
	from: UtcDate | undefined;
	to: UtcDate | undefined;
}

/** By `relkind`. Others are tables. */
export const kinds: Readonly<Record<string, string>> = {
	v: "view",
	m: "materialized view",
	f: "foreign table",
	S: "sequence",
	c: "composite type",
	i: "index",
	I: "index",
};

/** @param withPartitions Whether to look at the partitions, of which there may be thousands. */
export async function findTable(
	transaction: Transaction,
	schema: string,
	name: string,
	withPartitions = false,
): Promise<PostgresTable | undefined> {
	const [found] = await transaction.rows<{
		oid: string;
		kind: string;
		comment: string | null;
		key: string | null;
		fallback: string | null;
		isHidden: boolean;
		isReadable: boolean;
	}>(
		`SELECT c.oid::text AS oid, c.relkind::text AS kind, obj_description(c.oid, 'pg_class') AS comment,
			CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END AS key,
			(SELECT d.relname::text FROM pg_partitioned_table t JOIN pg_class d ON d.oid = t.partdefid WHERE t.partrelid = c.oid) AS fallback,
			row_security_active(c.oid) AS "isHidden", has_table_privilege(c.oid, 'SELECT') AS "isReadable"
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
		[schema, name],
	);
	if (!found) return undefined;
	const columns = await transaction.rows<ExistingColumn>(
		`SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, col_description(attrelid, attnum) AS comment FROM pg_attribute
		WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
		[found.oid],
	);
	const otherKind = kinds[found.kind];
	const rows =
		otherKind === undefined && found.isReadable
			? await transaction.rows(`SELECT 1 FROM ${nameOf(schema, name)} LIMIT 1`)
			: [];
	const otherPartitions =
		withPartitions && found.key !== null
			? await transaction.rows<RangePartition>(
					`SELECT name, bounds[1] AS from, bounds[2] AS to FROM (
						SELECT c.relname::text AS name, regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM .''([0-9-]{10})''. TO .''([0-9-]{10})''.$') AS bounds
						FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1 AND NOT i.inhdetachpending) AS partitions
					WHERE (bounds[1]::date + 1 = bounds[2]::date) IS NOT TRUE ORDER BY name`,
					[found.oid],
				)
			: undefined;
	return {
		oid: found.oid,
		columns,
		...(otherPartitions && { otherPartitions }),
		comment: readComment(found.comment ?? ""),
		// Row security may hide what it has.
		isEmpty:
			otherKind === undefined &&
			found.isReadable &&
			!found.isHidden &&
			rows.length === 0,
		otherKind,
		partitionKey: found.key ?? undefined,
		defaultPartition: found.fallback ?? undefined,
	};
}

/**
 * What the comment of a partition says beside its words. Once somebody has detached it, it is a table of the Pipeline's that no Run loads.
 */
export interface PartitionMark extends Pick<TableMark, "pipeline"> {
	sourceKey: string | undefined;
	/** The table's name when the mark was written. */
	partitionOf: string;
}

export function partitionMark(of: TableMark, table: string): PartitionMark {
	const { pipeline } = of;
	return {
		...(pipeline !== undefined && { pipeline }),
		sourceKey: sourceKeyOf(of),
		partitionOf: table,
	};
}

/** Of pg_class as `c`. */
const isMarkedPartition =
	"obj_description(c.oid, 'pg_class') LIKE '%\"partitionOf\":%'";
const isAttached =
	"EXISTS (SELECT FROM pg_inherits a WHERE a.inhrelid = c.oid AND NOT a.inhdetachpending)";

/**
 * The tables of a schema that have a comment, also those that somebody has made partitions of others, with the columns whose values
 * Postgres doesn't make itself.
 */
export async function commentedTables(
	transaction: Transaction,
	schema: string,
): Promise<(MarkedTable & Pick<PostgresTable, "comment">)[]> {
	const tables = await transaction.rows<{
		oid: string;
		name: string;
		comment: string;
	}>(
		`SELECT c.oid::text AS oid, c.relname::text AS name, obj_description(c.oid, 'pg_class') AS comment
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND obj_description(c.oid, 'pg_class') IS NOT NULL
			AND NOT (${isMarkedPartition} AND ${isAttached})
		ORDER BY c.relname`,
		[schema],
	);
	const columns = await transaction.rows<
		Required<ExistingColumn> & { oid: string; takesNull: boolean }
	>(
		`SELECT attrelid::text AS oid, attname::text AS name, format_type(atttypid, atttypmod) AS type, col_description(attrelid, attnum) AS comment,
			NOT (attnotnull OR typnotnull) AS "takesNull"
		FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
		WHERE attrelid = ANY($1::oid[]) AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = '' ORDER BY attnum`,
		[tables.map(({ oid }) => oid)],
	);
	return tables.map(({ oid, name, comment }) => ({
		name,
		comment: readComment(comment),
		columns: columns
			.filter((column) => column.oid === oid)
			.map(({ name, type, comment, takesNull }) => ({
				...{ name, type, comment },
				blank: takesNull ? "NULL" : undefined,
			})),
	}));
}

/**
 * What an Erase doesn't reach of what was detached: tables that were partitions of a day by name and columns, partitions that are being
 * detached, both without a mark, and those with one that are in another schema or partitions of another table.
 */
export async function detachedPartitions(
	transaction: Transaction,
	schema: string,
	table: string,
): Promise<string[]> {
	const names = (of: string) =>
		`(SELECT array_agg(attname) FROM pg_attribute WHERE attrelid = ${of} AND attnum > 0 AND NOT attisdropped)`;
	const parent = "$2::text::regclass";
	const marked = await transaction.rows<{
		name: string;
		comment: string;
		parents: string;
	}>(
		`SELECT format('%I.%I', n.nspname, c.relname) AS name, obj_description(c.oid, 'pg_class') AS comment, obj_description(${parent}, 'pg_class') AS parents
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = ${parent}
		WHERE (n.nspname <> $1 OR ${isAttached}) AND c.relkind IN ('r', 'p') AND i.inhrelid IS NULL AND ${isMarkedPartition} ORDER BY 1`,
		[schema, nameOf(schema, table)],
	);
	const elsewhere = marked.filter(({ comment, parents }) => {
		const { mark: of } = readComment(parents);
		const { mark } = readComment<PartitionMark>(comment);
		return of && isDeepStrictEqual(mark, partitionMark(of, table));
	});
	const found = await transaction.rows<{ name: string; isPending: boolean }>(
		`SELECT c.relname::text AS name, i.inhrelid IS NOT NULL AS "isPending"
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE n.nspname = $1 AND (i.inhparent = ${parent} AND i.inhdetachpending
			OR i.inhrelid IS NULL AND c.relkind IN ('r', 'p') AND ${names("c.oid")} <@ ${names(parent)})
			AND (${isMarkedPartition}) IS NOT TRUE
		ORDER BY c.relname`,
		[schema, nameOf(schema, table)],
	);
	const unmarked = found.filter(({ name, isPending }) => {
		const [, year, month, day, end = ""] =
			/_p(\d{4})(\d\d)(\d\d)(_[0-9a-f]{8})?$/.exec(name) ?? [];
		const own = partitionName(table, `${year}-${month}-${day}`);
		return isPending || name === (end ? fitting(own, end) : own);
	});
	return [...unmarked, ...elsewhere].map(({ name }) => name);
}

function partitionName(table: string, date: UtcDate): string {
	return fitting(table, `_p${date.replaceAll("-", "")}`);
}

/** A name for SQL, with its schema. */
export function nameOf(schema: string, name: string): string {
	return `${quoteName(schema)}.${quoteName(name)}`;
}

/** A string literal, whatever the server's setting standard_conforming_strings. */
export function literal(text: string): string {
	// U+0000 would end the message.
	const quoted = `'${text.replaceAll("'", "''").replaceAll("\0", "\uFFFD")}'`;
	return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/** The partition of one date, which a table may lack. */
export interface Partition {
	oid: string;
	/** With its schema, for SQL. */
	name: string;
	/** For SQL, if tables may inherit from it, whose rows are none of its own. */
	rowsOf?: string;
}

export async function partitionOf(
	transaction: Transaction,
	parent: string,
	date: UtcDate,
): Promise<Partition | undefined> {
	const [found] = await transaction.rows<Partition>(
		`SELECT c.oid::text AS oid, format('%I.%I', n.nspname, c.relname) AS name
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE i.inhparent = $1 AND NOT i.inhdetachpending AND pg_get_expr(c.relpartbound, c.oid) = $2`,
		[parent, bounds(date)],
	);
	return found;
}

/** Makes a partition that the table doesn't have yet. */
export async function createPartition(
	transaction: Transaction,
	schema: string,
	table: string,
	date: UtcDate,
): Promise<Partition> {
	const name = await freePartitionName(transaction, schema, table, date);
	const full = nameOf(schema, name);
	await transaction.run(
		`CREATE TABLE ${full} (LIKE ${nameOf(schema, table)} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION)`,
	);
	await transaction.run(
		`ALTER TABLE ${nameOf(schema, table)} ATTACH PARTITION ${full} ${bounds(date)}`,
	);
	const [found] = await transaction.rows<{ oid: string }>(
		"SELECT $1::text::regclass::oid::text AS oid",
		[full],
	);
	return { oid: found!.oid, name: full };
}

export function freePartitionName(
	transaction: Transaction,
	schema: string,
	table: string,
	date: UtcDate,
): Promise<string> {
	const name = partitionName(table, date);
	return freeName(transaction, schema, name);
}

/** The name itself, or with more if something has it. */
export async function freeName(
	transaction: Transaction,
	schema: string,
	name: string,
): Promise<string> {
	const found = await transaction.rows(
		"SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
		[schema, name],
	);
	return found.length === 0
		? name
		: fitting(name, `_${randomUUID().slice(0, 8)}`);
}

/** Postgres cuts a longer name, and would then find another table. */
export const maxNameBytes = 63;

/** A name with an end, cut before it to what Postgres takes. */
export function fitting(name: string, end: string): string {
	return `${Buffer.from(name)
		.subarray(0, maxNameBytes - end.length)
		.toString()
		.replace(/\uFFFD+$/, "")}${end}`;
}

/** The day whose {@link bounds} these are; undefined if they are others. */
export function dayOf(text: string): UtcDate | undefined {
	const [, date] = /\('([0-9-]{10})'\)/.exec(text) ?? [];
	return date !== undefined && bounds(date) === text ? date : undefined;
}

/** As Postgres writes the bounds of a partition of one day. */
export function bounds(date: UtcDate): string {
	return `FOR VALUES FROM ('${date}') TO ('${addDays(date, 1)}')`;
}

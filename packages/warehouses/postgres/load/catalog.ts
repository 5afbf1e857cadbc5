import { addDays, type UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { ErasableTable } from "../../load/erasing-access.ts";
import type { ExistingColumn } from "../../load/incompatibility.ts";
import { readComment, type TableComment } from "../../load/table-comment.ts";
import type { Transaction } from "./database.ts";

/** The table as a transaction finds it. */
export interface PostgresTable {
	oid: string;
	columns: ExistingColumn[];
	comment: TableComment;
	isEmpty: boolean;
	/** Such as `view`; undefined for a table. */
	otherKind: string | undefined;
	/** The key of a table that is partitioned, such as `RANGE (date)`. */
	partitionKey: string | undefined;
	/** Name of its default partition. */
	defaultPartition: string | undefined;
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

export async function findTable(
	transaction: Transaction,
	schema: string,
	name: string,
): Promise<PostgresTable | undefined> {
	const [found] = await transaction.rows<{
		oid: string;
		kind: string;
		comment: string | null;
		key: string | null;
		fallback: string | null;
	}>(
		`SELECT c.oid::text AS oid, c.relkind::text AS kind, obj_description(c.oid, 'pg_class') AS comment,
			CASE WHEN c.relkind = 'p' THEN pg_get_partkeydef(c.oid) END AS key,
			(SELECT d.relname::text FROM pg_partitioned_table t JOIN pg_class d ON d.oid = t.partdefid WHERE t.partrelid = c.oid) AS fallback
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
		otherKind === undefined
			? await transaction.rows(`SELECT 1 FROM ${nameOf(schema, name)} LIMIT 1`)
			: [];
	return {
		oid: found.oid,
		columns,
		comment: readComment(found.comment ?? ""),
		isEmpty: otherKind === undefined && rows.length === 0,
		otherKind,
		partitionKey: found.key ?? undefined,
		defaultPartition: found.fallback ?? undefined,
	};
}

/** The tables of a schema, with the columns whose values Postgres doesn't make itself. */
export async function commentedTables(
	transaction: Transaction,
	schema: string,
): Promise<(ErasableTable & Pick<PostgresTable, "comment">)[]> {
	const tables = await transaction.rows<{
		oid: string;
		name: string;
		comment: string;
	}>(
		`SELECT c.oid::text AS oid, c.relname::text AS name, obj_description(c.oid, 'pg_class') AS comment
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND obj_description(c.oid, 'pg_class') IS NOT NULL
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

/** The day whose {@link bounds} these are; undefined if they are others. */
export function dayOf(text: string): UtcDate | undefined {
	const [, date] = /\('([0-9-]{10})'\)/.exec(text) ?? [];
	return date !== undefined && bounds(date) === text ? date : undefined;
}

/** As Postgres writes the bounds of a partition of one day. */
export function bounds(date: UtcDate): string {
	return `FOR VALUES FROM ('${date}') TO ('${addDays(date, 1)}')`;
}

import {
	assignmentsSql,
	type RowStatement,
	statementSql,
} from "../../load/warehouse.ts";
import type { Partition } from "./catalog.ts";
import { seeAll, type Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";

/*
 * What a statement says that it did isn't what the table then has: a trigger, a rule or a policy may leave rows as they were, or put
 * them back. So what was touched is compared with what should have been, in the transaction that touched it.
 */

/** By pg_trigger's `tgtype` and pg_rewrite's `ev_type` (src/include/catalog/pg_trigger.h of Postgres). */
const kinds = {
	DELETE: { trigger: 8, rule: "4", words: "weren't deleted" },
	UPDATE: { trigger: 16, rule: "2", words: "weren't changed" },
	INSERT: { trigger: 4, rule: "3", words: "weren't inserted" },
} as const;

export type StatementKind = keyof typeof kinds;

/**
 * Throws {@link PostgresFailure} RowsUntouched if fewer rows were touched than meant, with the names of what may have kept them.
 * @param table for SQL.
 */
export async function requireTouched(
	transaction: Transaction,
	table: string,
	kind: StatementKind,
	meant: number,
	touched: number,
): Promise<void> {
	if (touched >= meant) return;
	const { trigger, rule, words } = kinds[kind];
	const found = await transaction.rows<{ what: string }>(
		`WITH tree AS (SELECT $1::text::regclass::oid AS oid UNION SELECT relid FROM pg_partition_tree($1::text::regclass))
		SELECT format('trigger %I', tgname) AS what FROM pg_trigger JOIN tree ON tree.oid = tgrelid
			WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & ${trigger} <> 0
		UNION SELECT format('rule %I', rulename) FROM pg_rewrite JOIN tree ON tree.oid = ev_class WHERE ev_type = '${rule}'
		UNION SELECT format('policy %I', polname) FROM pg_policy JOIN tree ON tree.oid = polrelid WHERE row_security_active(polrelid)
		ORDER BY 1 LIMIT 10`,
		[table],
	);
	const by = found.map(({ what }) => what).join(", ");
	throw new PostgresFailure(
		"RowsUntouched",
		`${meant - touched} of ${meant} rows of table ${table} ${words}${by && `, as ${by} may have it`}`,
	);
}

/** What waits for COMMIT is done: a trigger that is deferred changes nothing any more once rows are counted. */
const endDeferred = "SET CONSTRAINTS ALL IMMEDIATE";

/** Compares a relation whose rows were replaced with what it should have. It has no row of before, whichever statement said so. */
export async function requireReplaced(
	transaction: Transaction,
	{ name, rowsOf = name, oid }: Partition,
	rows: number,
): Promise<void> {
	await transaction.run(endDeferred);
	const [found] = await transaction.rows<{ rows: string; isHidden: boolean }>(
		`SELECT count(*)::text AS rows, row_security_active($1::oid) AS "isHidden" FROM ${rowsOf}`,
		[oid],
	);
	const more = Number(found!.rows) - rows;
	if (more > 0) await requireTouched(transaction, name, "DELETE", more, 0);
	if (more < 0) await requireTouched(transaction, name, "INSERT", -more, 0);
	if (rows === 0 && found!.isHidden)
		throw new PostgresFailure(
			"RowsHidden",
			`Row security of table ${name} may have kept rows that were to be deleted`,
		);
}

/**
 * Compares what came into a partition with what the transaction has left there, by the server's counters: no row is read. Where it counts
 * nothing (`track_counts`), nothing is found.
 */
export async function requireAdded(
	transaction: Transaction,
	{ name, oid }: Partition,
	rows: number,
): Promise<void> {
	await transaction.run(endDeferred);
	const [found] = await transaction.rows<{ gone: string }>(
		`SELECT coalesce(sum(pg_stat_get_xact_tuples_deleted(relid)), 0)::text AS gone FROM pg_partition_tree($1::oid::regclass) WHERE isleaf`,
		[oid],
	);
	const left = rows - Number(found!.gone);
	await requireTouched(transaction, name, "INSERT", rows, left);
}

/**
 * Changes or deletes the rows that are meant. The transaction must be REPEATABLE READ, so that nobody else's changes count.
 * @param table for SQL.
 */
export async function changeRows(
	transaction: Transaction,
	table: string,
	statement: RowStatement,
): Promise<number> {
	const meant = await countAll(transaction, table, statement.condition);
	if (meant === 0) return 0;
	if (statement.assignments) {
		const changed = await update(transaction, table, statement);
		await requireTouched(transaction, table, "UPDATE", meant, changed);
		return changed;
	}
	const deleted = await transaction.run(statementSql(table, statement));
	await transaction.run(endDeferred);
	const left = await countAll(transaction, table, statement.condition);
	const touched = Math.min(deleted, meant - left);
	await requireTouched(transaction, table, "DELETE", meant, touched);
	return deleted;
}

/** @param table for SQL. */
export async function countAll(
	transaction: Transaction,
	table: string,
	condition: string,
): Promise<number> {
	await transaction.run(seeAll);
	const [all] = await transaction.rows<{ rows: string }>(
		`SELECT count(*)::text AS rows FROM ${table} WHERE ${condition}`,
	);
	return Number(all!.rows);
}

/** Returns how many rows it changed of which no assigned column has what it had. A trigger may have given one another value. */
async function update(
	transaction: Transaction,
	table: string,
	{ condition, assignments = [] }: RowStatement,
): Promise<number> {
	const hadBefore = await valuesOf(transaction, table, {
		condition,
		assignments,
	});
	const before = assignments.map(({ column }, at) => `${column} AS c${at}`);
	const stays = assignments.map(
		({ column, value }, at) =>
			`now.${column}::text = was.c${at}::text AND now.${column}::text IS DISTINCT FROM ${value}`,
	);
	const [changed] = await transaction.rows<{ rows: string }>(
		`WITH changed AS (
			UPDATE ${table} AS now SET ${assignmentsSql(assignments)}
			FROM (SELECT ctid AS place, tableoid AS part, ${before.join(", ")} FROM ${table} WHERE ${condition}) AS was
			WHERE now.ctid = was.place AND now.tableoid = was.part RETURNING (${stays.join(") OR (")}) AS stays
		) SELECT count(*) FILTER (WHERE stays IS NOT TRUE)::text AS rows FROM changed`,
	);
	await transaction.run(endDeferred);
	const back = await hadBefore();
	return Math.max(0, Number(changed!.rows) - back);
}

/**
 * Asks what rows have, before they change; what it returns says how many have some of it again afterwards, which RETURNING doesn't see.
 * Only a trigger puts it back.
 */
async function valuesOf(
	transaction: Transaction,
	table: string,
	{ condition, assignments = [] }: RowStatement,
): Promise<() => Promise<number>> {
	const [watched] = await transaction.rows(
		`SELECT FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 16 <> 0 AND tgrelid IN
			(SELECT $1::text::regclass::oid UNION SELECT relid FROM pg_partition_tree($1::text::regclass)) LIMIT 1`,
		[table],
	);
	if (!watched) return async () => 0;
	const hashes = assignments.map(
		({ column, value }) =>
			`CASE WHEN ${column}::text IS DISTINCT FROM ${value} THEN md5(${column}::text) END`,
	);
	const [was] = await transaction.rows<Record<string, string[]>>(
		`SELECT ${hashes.map((hash, at) => `array_agg(DISTINCT ${hash}) AS c${at}`).join(", ")} FROM ${table} WHERE ${condition}`,
	);
	const isBack = hashes.map((hash, at) => `${hash} = ANY($${at + 1}::text[])`);
	return async () => {
		const [again] = await transaction.rows<{ rows: string }>(
			`SELECT count(*)::text AS rows FROM ${table} WHERE ${condition} AND (${isBack.join(" OR ")})`,
			hashes.map((_, at) => was![`c${at}`]),
		);
		return Number(again!.rows);
	};
}

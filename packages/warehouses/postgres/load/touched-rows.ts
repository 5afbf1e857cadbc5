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

/** Compares a relation whose rows were replaced with what it should have. It has no row of before, whichever statement said so. */
export async function requireReplaced(
	transaction: Transaction,
	{ name, oid }: Partition,
	rows: number,
): Promise<void> {
	const [found] = await transaction.rows<{ rows: string; isHidden: boolean }>(
		`SELECT count(*)::text AS rows, row_security_active($1::oid) AS "isHidden" FROM ${name}`,
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
	return Number(changed!.rows);
}

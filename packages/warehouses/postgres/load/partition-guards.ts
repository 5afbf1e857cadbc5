import { isDeepStrictEqual } from "node:util";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { readComment, writeComment } from "../../load/columns.ts";
import {
	bounds,
	literal,
	type Partition,
	type PartitionMark,
	partitionMark,
} from "./catalog.ts";
import type { Database, Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";
import { lockAlone } from "./swap.ts";

/**
 * Gives a partition, and those that it is partitioned into, what Postgres doesn't hand down to them and rows need before they change:
 *
 * - the parent's replica identity, or a publication refuses each UPDATE and DELETE;
 * - row security where the parent has it, without its policies: who may read the partition by itself sees no row. Never FORCE, by which
 *   the server refuses COPY to the owner, too;
 * - the numbers of identity columns, which partitions inherit from Postgres 17 on;
 * - a comment that says whose they are.
 *
 * What they have already costs one question. Partitions of other roles stay as they are.
 * @param partition all of the parent's if it is left out.
 */
export async function guardPartition(
	transaction: Transaction,
	parent: string,
	{ oid }: Pick<Partition, "oid"> = { oid: parent },
): Promise<void> {
	const found = await transaction.rows<{ name: string; sql: string }>(
		`WITH tree AS (
			SELECT oid, oid::regclass AS name, relreplident, relrowsecurity FROM pg_class
			WHERE oid IN (SELECT $2::oid UNION SELECT relid FROM pg_partition_tree($2::oid)) AND oid <> $1::oid AND pg_has_role(relowner, 'USAGE')
		), parent AS (
			SELECT oid, oid::regclass AS name, relreplident, relrowsecurity FROM pg_class WHERE oid = $1::oid
		)
		SELECT tree.name::text, format('ALTER TABLE %s REPLICA IDENTITY FULL', tree.name) AS sql
			FROM tree CROSS JOIN parent WHERE parent.relreplident = 'f' AND tree.relreplident <> 'f'
		UNION ALL SELECT tree.name::text, format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', tree.name, c.relname)
			FROM tree CROSS JOIN parent JOIN pg_index wanted ON wanted.indrelid = parent.oid AND wanted.indisreplident
				JOIN pg_index i ON i.indrelid = tree.oid AND NOT i.indisreplident JOIN pg_class c ON c.oid = i.indexrelid
			WHERE parent.relreplident = 'i' AND EXISTS (SELECT 1 FROM pg_partition_ancestors(i.indexrelid) a WHERE a.relid = wanted.indexrelid)
		UNION ALL SELECT tree.name::text, format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tree.name)
			FROM tree CROSS JOIN parent WHERE parent.relrowsecurity AND NOT tree.relrowsecurity
		UNION ALL SELECT tree.name::text, format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT nextval(%L::regclass)', tree.name, a.attname, pg_get_serial_sequence(parent.name::text, a.attname))
			FROM tree CROSS JOIN parent JOIN pg_attribute a ON a.attrelid = parent.oid AND a.attidentity <> '' AND NOT a.attisdropped
				JOIN pg_attribute b ON b.attrelid = tree.oid AND b.attname = a.attname
			WHERE b.attidentity = '' AND NOT b.atthasdef`,
		[parent, oid],
	);
	for (const { name, sql } of found) {
		await lockAlone(transaction, name);
		await transaction.run(sql);
	}
	await markPartitions(transaction, parent, oid);
}

/** Says in partitions' comments whose they are, so that an Erase finds them once somebody has detached them, under whatever name. */
async function markPartitions(
	transaction: Transaction,
	parent: string,
	partition: string,
): Promise<void> {
	const found = await transaction.rows<{
		name: string;
		comment: string | null;
		table: string;
		parents: string | null;
	}>(
		`SELECT c.oid::regclass::text AS name, obj_description(c.oid, 'pg_class') AS comment, p.relname::text AS table, obj_description(p.oid, 'pg_class') AS parents
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
		WHERE i.inhparent = $1::oid AND NOT i.inhdetachpending AND $2::oid IN (i.inhparent, i.inhrelid) AND pg_has_role(c.relowner, 'USAGE')
			AND c.relkind IN ('r', 'p')`,
		[parent, partition],
	);
	for (const { name, comment, table, parents } of found) {
		const of = readComment(parents ?? "").mark;
		const { words, mark } = readComment<PartitionMark>(comment ?? "");
		const wanted = of && partitionMark(of, table);
		if (!wanted || isDeepStrictEqual(mark, wanted)) continue;
		const text = writeComment(words || `A day of table ${table}`, wanted);
		await transaction.run(`COMMENT ON TABLE ${name} IS ${literal(text)}`);
	}
}

/** Throws the error; if it is that a lock was waited for in vain, with who holds these tables. */
export async function tellHolders(
	error: unknown,
	database: Pick<Database, "transaction">,
	names: readonly string[],
): Promise<never> {
	const isOfLock =
		error instanceof PostgresFailure &&
		(error.cause as { code?: string } | undefined)?.code === "55P03";
	if (!isOfLock) throw error;
	const words = await database
		.transaction((transaction) => holdersOf(transaction, names))
		.catch(() => undefined);
	if (words === undefined) throw error;
	const { code, what, cause } = error;
	throw new PostgresFailure(code, `${what} ${words}`, { cause });
}

/**
 * Who holds a table, its partitions or the views of it, in words for people; undefined if nobody does. Only some roles are told since when
 * (postgresql.org/docs/current/monitoring-stats.html#MONITORING-STATS-VIEWS).
 * @param names with their schema, for SQL.
 */
async function holdersOf(
	transaction: Transaction,
	names: readonly string[],
): Promise<string | undefined> {
	const found = await transaction.rows<{
		what: string;
		pid: number | null;
		/** Of a transaction that is prepared, and waits for its second phase without a process. */
		gid: string | null;
		role: string | null;
		since: string | null;
	}>(
		`WITH RECURSIVE held AS (
			SELECT oid FROM (SELECT to_regclass(unnest($1::text[]))::oid AS oid) AS named WHERE oid IS NOT NULL
			UNION SELECT inhrelid FROM pg_inherits JOIN held ON held.oid = inhparent
		)
		SELECT DISTINCT ON (a.pid, gid) held.oid::regclass::text AS what, a.pid, gid, coalesce(a.usename, owner)::text AS role,
			to_char(coalesce(a.xact_start, prepared) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') AS since
		FROM held JOIN pg_locks l ON l.relation = held.oid AND l.granted LEFT JOIN pg_stat_activity a ON a.pid = l.pid
			LEFT JOIN (pg_locks t JOIN pg_prepared_xacts x ON x.transaction = t.transactionid) ON t.virtualtransaction = l.virtualtransaction AND l.pid IS NULL
		WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND a.pid IS DISTINCT FROM pg_backend_pid()
			AND (a.pid IS NOT NULL OR gid IS NOT NULL)
		ORDER BY a.pid, gid LIMIT 3`,
		[names],
	);
	if (found.length === 0) return undefined;
	const holders = found.map(
		({ what, pid, gid, role, since }) =>
			`${gid === null ? `process ${pid}` : `prepared transaction ${quoteName(gid)}`}${role === null ? "" : ` of ${quoteName(role)}`}${since === null ? "" : `, in a transaction since ${since}`}, on ${what}`,
	);
	return `Locks are held by ${holders.join("; ")}`;
}

/** What a load changes of a table: it alters and comments on the table itself, and changes rows. */
interface ChangedTable {
	oid: string;
	/** Of the days that change. Their partitions may be other roles', as those of pg_partman are. */
	dates?: readonly UtcDate[];
	/** What is needed on their partitions. */
	rights?: readonly (typeof ofRows)[number][];
}

/** Rows of these are read and changed, whoever owns them. */
const ofRows = ["SELECT", "INSERT", "UPDATE", "DELETE"] as const;
const mostNamed = 10;

/**
 * Throws {@link PostgresFailure} NotOwner if the role may not do with a table what a load does: own it, change rows of its days' partitions
 * and of what records them, and use the sequences of its columns' defaults. It says what an administrator must run.
 * @param record the table of the records, for SQL; it may be missing.
 */
export async function requireRights(
	transaction: Transaction,
	{ oid, dates = [], rights = ofRows }: ChangedTable,
	record: string,
): Promise<void> {
	const parts = await transaction.rows<{ oid: string }>(
		`SELECT c.oid::text AS oid FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
		WHERE inhparent = $1::oid AND NOT inhdetachpending AND pg_get_expr(c.relpartbound, c.oid) = ANY($2)`,
		[oid, dates.map(bounds)],
	);
	const partitions = parts.map(({ oid }) => oid);
	await refuse(
		transaction,
		`c.oid = $1::oid AND NOT pg_has_role(c.relowner, 'USAGE')
			OR c.oid = to_regclass($3) AND ${lacks(ofRows)} OR c.oid = ANY($2::oid[]) AND ${lacks(rights)}
			OR CASE WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE, UPDATE') AND EXISTS (SELECT FROM pg_attrdef a JOIN pg_depend d
				ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
				WHERE a.adrelid = $1::oid OR a.adrelid = ANY($2::oid[])) END`,
		[oid, partitions, record],
		`c.oid = $1::oid`,
		ofRows,
	);
}

/** The same of a table whose rows an Erase reads, changes and deletes. Those of its partitions need no right of their own. */
export function requireErasable(
	transaction: Transaction,
	table: string,
): Promise<void> {
	const rights = ["SELECT", "UPDATE", "DELETE"] as const;
	return refuse(
		transaction,
		`c.oid = to_regclass($1) AND ${lacks(rights)}`,
		[table],
		"false",
		rights,
	);
}

function lacks(rights: readonly string[]): string {
	const has = rights.map((right) => `has_table_privilege(c.oid, '${right}')`);
	return `NOT (${has.join(" AND ")})`;
}

/** @param isOwned which of pg_class as `c` the role must own. */
async function refuse(
	transaction: Transaction,
	condition: string,
	values: unknown[],
	isOwned: string,
	rights: readonly string[],
): Promise<void> {
	const found = await transaction.rows<{
		name: string;
		kind: string;
		mustOwn: boolean;
		owner: string;
		role: string;
	}>(
		`SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind::text AS kind, ${isOwned} AS "mustOwn",
			pg_get_userbyid(c.relowner)::text AS owner, current_user::text AS role
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${condition} ORDER BY "mustOwn" DESC, c.relname`,
		values,
	);
	const [first] = found;
	if (!first) return;
	const owners = [...new Set(found.map(({ owner }) => quoteName(owner)))];
	const role = quoteName(first.role);
	const statements = found
		.slice(0, mostNamed)
		.map(({ name, kind, mustOwn }) =>
			mustOwn
				? `ALTER TABLE ${name} OWNER TO ${role};`
				: `GRANT ${kind === "S" ? "USAGE ON SEQUENCE" : `${rights.join(", ")} ON`} ${name} TO ${role};`,
		);
	const more = found.length - statements.length;
	throw new PostgresFailure(
		"NotOwner",
		`Role ${role} lacks rights on ${found.length > 1 ? `${found.length} relations` : first.name} of ${owners.join(", ")}. The owner or an administrator can give them: ${statements.join(" ")}${more > 0 ? ` And so for ${more} more` : ""}`,
	);
}

import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { bounds } from "./catalog.ts";
import type { Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";

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

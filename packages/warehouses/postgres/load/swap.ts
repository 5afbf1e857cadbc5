import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { TableChanged } from "../../load/warehouse.ts";
import type { PostgresTableOptions } from "../input.ts";
import {
	fitting,
	freeName,
	freePartitionName,
	literal,
	nameOf,
	type PostgresTable,
} from "./catalog.ts";
import type { Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";

/**
 * Throws {@link PostgresFailure} TableInUse, which names what a new table in the old one's place couldn't keep: what refers to the
 * table itself, and not to its name.
 * @param view Oid of one that is written anew.
 */
export async function requireReplaceable(
	transaction: Transaction,
	oid: string,
	table: string,
	view?: string,
): Promise<void> {
	const found = await transaction.rows<{ what: string }>(
		`WITH tree AS (SELECT $1::oid AS oid, NULL AS part UNION ALL SELECT relid, format(' of its partition %s', relid::regclass) FROM pg_partition_tree($1) WHERE relid <> $1)
		SELECT DISTINCT format('view %I.%I', n.nspname, v.relname) AS what
			FROM tree JOIN pg_depend d ON d.refobjid = tree.oid JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class JOIN pg_namespace n ON n.oid = v.relnamespace
			WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND v.oid NOT IN (SELECT oid FROM tree)
				AND v.oid IS DISTINCT FROM $2::oid
		UNION ALL SELECT format('rule %I%s', rulename, part) FROM pg_rewrite JOIN tree ON tree.oid = ev_class
		UNION ALL SELECT format('trigger %I%s', tgname, part) FROM pg_trigger JOIN tree ON tree.oid = tgrelid WHERE NOT tgisinternal AND tgparentid = 0
		UNION ALL SELECT format('policy %I%s', polname, part) FROM pg_policy JOIN tree ON tree.oid = polrelid
		UNION ALL SELECT format('row security%s', part) FROM pg_class c JOIN tree ON tree.oid = c.oid
			WHERE part IS NOT NULL AND (relforcerowsecurity OR relrowsecurity AND NOT (SELECT relrowsecurity FROM pg_class WHERE oid = $1))
		UNION ALL SELECT DISTINCT format('security label of %s', provider) FROM pg_seclabel JOIN tree ON tree.oid = objoid WHERE classoid = 'pg_class'::regclass
		UNION ALL SELECT format('identity column %I', attname) FROM pg_attribute WHERE attrelid = $1 AND attidentity <> '' AND NOT attisdropped
		UNION ALL SELECT format('foreign key %I%s', conname, part) FROM pg_constraint JOIN tree ON tree.oid IN (conrelid, confrelid) WHERE contype = 'f' AND conparentid = 0
		UNION ALL SELECT format('publication %I%s', p.pubname, part) FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid JOIN tree ON tree.oid = r.prrelid
		UNION ALL SELECT format('function %s', f.oid::regprocedure) FROM tree JOIN pg_depend d ON d.refobjid = tree.oid JOIN pg_proc f ON f.oid = d.objid
			WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_class'::regclass
		UNION ALL SELECT format('table %s, which inherits from it', inhrelid::regclass) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
			WHERE inhparent = $1 AND NOT c.relispartition
		ORDER BY 1 LIMIT 10`,
		[oid, view ?? null],
	);
	if (found.length > 0)
		throw new PostgresFailure(
			"TableInUse",
			`A new table would take the place of table ${table}, and can't keep its ${found.map(({ what }) => what).join(", ")}`,
		);
}

const lockPatience = { attempts: 100, timeout: "3s" };

/**
 * Waits until nobody reads the table, so that it can be dropped or changed. Who wants to read it meanwhile waits for 3 s at most.
 */
export async function lockAlone(
	transaction: Transaction,
	table: string,
): Promise<void> {
	await transaction.run(`SET LOCAL lock_timeout = '${lockPatience.timeout}'`);
	for (let attempt = 1; ; attempt++) {
		await transaction.run("SAVEPOINT locking");
		try {
			await transaction.run(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
			await transaction.run("RELEASE SAVEPOINT locking");
			return;
		} catch (error) {
			const isLocked = (error as { code?: string }).code === "55P03";
			if (!isLocked || attempt === lockPatience.attempts) throw error;
			await transaction.run("ROLLBACK TO SAVEPOINT locking");
			await transaction.run("SELECT pg_sleep(1)");
		}
	}
}

/** What people have given to a table, as statements for the table that takes its place. */
export interface Belongings {
	/** While both are there. */
	before: string[];
	/** When the old one is gone, whose names are free then. */
	after: string[];
}

/**
 * Grants, comments, indexes, constraints, defaults, storage options and guards of a table. What is about a column that the new table lacks goes
 * with it, as by DROP COLUMN.
 * @param columns Those that the new table has.
 */
export async function belongingsOf(
	transaction: Transaction,
	oid: string,
	{
		schema,
		table,
		staging,
	}: { schema: string; table: string; staging: string },
	columns: readonly string[],
): Promise<Belongings> {
	const [old, next] = [nameOf(schema, table), nameOf(schema, staging)];
	const [before, after]: string[][] = [[], []];
	before!.push(...(await grantsOf(transaction, oid, next!, columns)));
	const comments = await transaction.rows<{ column: string; comment: string }>(
		`SELECT attname::text AS column, col_description(attrelid, attnum) AS comment FROM pg_attribute
		WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND col_description(attrelid, attnum) IS NOT NULL AND attname::text = ANY($2::text[]) ORDER BY attnum`,
		[oid, columns],
	);
	for (const { column, comment } of comments)
		before!.push(
			`COMMENT ON COLUMN ${next}.${quoteName(column)} IS ${literal(comment)}`,
		);
	const [options] = await transaction.rows<{ options: string[] | null }>(
		"SELECT reloptions AS options FROM pg_class WHERE oid = $1",
		[oid],
	);
	for (const option of options?.options ?? []) {
		const at = option.indexOf("=");
		before!.push(
			`ALTER TABLE ${next} SET (${option.slice(0, at)} = ${literal(option.slice(at + 1))})`,
		);
	}
	const required = await transaction.rows<{ column: string }>(
		"SELECT attname::text AS column FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND attnotnull AND attname::text = ANY($2::text[]) ORDER BY attnum",
		[oid, columns],
	);
	for (const { column } of required)
		before!.push(
			`ALTER TABLE ${next} ALTER COLUMN ${quoteName(column)} SET NOT NULL`,
		);
	const constraints = await transaction.rows<{
		name: string;
		sql: string;
		comment: string | null;
	}>(
		`SELECT conname::text AS name, pg_get_constraintdef(oid) AS sql, obj_description(oid, 'pg_constraint') AS comment
		FROM pg_constraint c WHERE conrelid = $1 AND contype IN ('p', 'u', 'x', 'c') AND ${hasItsColumns("pg_constraint", "c.oid")} ORDER BY conname`,
		[oid, columns],
	);
	for (const [number, { name, sql, comment }] of constraints.entries()) {
		const temporary = quoteName(`${staging}_c${number}`);
		before!.push(`ALTER TABLE ${next} ADD CONSTRAINT ${temporary} ${sql}`);
		after!.push(
			`ALTER TABLE ${old} RENAME CONSTRAINT ${temporary} TO ${quoteName(name)}`,
		);
		if (comment !== null)
			after!.push(
				`COMMENT ON CONSTRAINT ${quoteName(name)} ON ${old} IS ${literal(comment)}`,
			);
	}
	const indexes = await transaction.rows<{
		name: string;
		sql: string;
		comment: string | null;
	}>(
		`SELECT c.relname::text AS name, obj_description(c.oid, 'pg_class') AS comment,
			replace(pg_get_indexdef(c.oid), format('INDEX %I ON %s%s USING', c.relname, CASE WHEN c.relkind = 'I' THEN 'ONLY ' END, $3::text), 'INDEX @ ON @ USING') AS sql
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE i.indrelid = $1 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid AND conrelid = $1)
			AND ${hasItsColumns("pg_class", "c.oid")} ORDER BY c.relname`,
		[oid, columns, await identOf(transaction, schema, table)],
	);
	for (const [number, { name, sql, comment }] of indexes.entries()) {
		const temporary = quoteName(`${staging}_i${number}`);
		before!.push(
			sql.replace(
				"INDEX @ ON @ USING",
				() => `INDEX ${temporary} ON ${next} USING`,
			),
		);
		after!.push(
			`ALTER INDEX ${quoteName(schema)}.${temporary} RENAME TO ${quoteName(name)}`,
		);
		if (comment !== null)
			after!.push(
				`COMMENT ON INDEX ${nameOf(schema, name)} IS ${literal(comment)}`,
			);
	}
	const defaults = await transaction.rows<{ column: string; value: string }>(
		`SELECT attname::text AS column, pg_get_expr(adbin, adrelid) AS value FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
		WHERE d.adrelid = $1 AND a.attgenerated = '' AND attname::text = ANY($2::text[]) ORDER BY attnum`,
		[oid, columns],
	);
	for (const { column, value } of defaults)
		before!.push(
			`ALTER TABLE ${next} ALTER COLUMN ${quoteName(column)} SET DEFAULT ${value}`,
		);
	after!.push(...(await guardsOf(transaction, oid, old, columns)));
	return { before: before!, after: after! };
}

/**
 * What guards a table's rows and what the planner knows of them, as statements for a table in its place: statistics, replica identity,
 * row security and the owner, which is last.
 * @param table its name, for SQL.
 */
async function guardsOf(
	transaction: Transaction,
	oid: string,
	table: string,
	columns: readonly string[],
): Promise<string[]> {
	const found = await transaction.rows<{ sql: string }>(
		`SELECT sql FROM (
			SELECT 1 AS place, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', $3::text, attname, attstattarget) AS sql
				FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0 AND attname::text = ANY($2::text[])
			UNION ALL SELECT 1, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', $3::text, attname, array_to_string(attoptions, ', '))
				FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attoptions IS NOT NULL AND attname::text = ANY($2::text[])
			UNION ALL SELECT 2, pg_get_statisticsobjdef(s.oid) FROM pg_statistic_ext s WHERE stxrelid = $1 AND ${hasItsColumns("pg_statistic_ext", "s.oid")}
			UNION ALL SELECT 3, format('ALTER STATISTICS %I.%I SET STATISTICS %s', n.nspname, stxname, stxstattarget)
				FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace WHERE stxrelid = $1 AND stxstattarget >= 0 AND ${hasItsColumns("pg_statistic_ext", "s.oid")}
			UNION ALL SELECT 4, format('ALTER TABLE %s REPLICA IDENTITY %s', $3::text, CASE relreplident WHEN 'f' THEN 'FULL' ELSE 'NOTHING' END)
				FROM pg_class WHERE oid = $1 AND relreplident IN ('f', 'n')
			UNION ALL SELECT 4, format('ALTER TABLE %s REPLICA IDENTITY USING INDEX %I', $3::text, c.relname)
				FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1 AND i.indisreplident
				AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum = ANY(i.indkey) AND a.attname::text <> ALL($2::text[]))
			UNION ALL SELECT 5, format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', $3::text) FROM pg_class WHERE oid = $1 AND relrowsecurity
			UNION ALL SELECT 5, format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', $3::text) FROM pg_class WHERE oid = $1 AND relforcerowsecurity
			UNION ALL SELECT 6, format('ALTER TABLE %s OWNER TO %I', $3::text, pg_get_userbyid(relowner)) FROM pg_class WHERE oid = $1 AND pg_get_userbyid(relowner) <> current_user
		) AS guards ORDER BY place, sql`,
		[oid, columns, table],
	);
	return found.map(({ sql }) => sql);
}

/**
 * Of a constraint or an index of table $1: whether each column that it is about is one of $2, whatever expression it stands in
 * (postgresql.org/docs/current/catalog-pg-depend.html).
 */
function hasItsColumns(catalog: string, oid: string): string {
	return `NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
			WHERE d.classid = '${catalog}'::regclass AND d.objid = ${oid} AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1
				AND d.refobjsubid > 0 AND a.attname::text <> ALL($2::text[]))`;
}

/** Takes what default privileges have given to roles, which get the old table's rights instead. */
export async function revokesOf(
	transaction: Transaction,
	next: string,
): Promise<string[]> {
	const found = await transaction.rows<{ sql: string }>(
		`SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', $1::text, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) AS sql
		FROM pg_class c, aclexplode(c.relacl) WHERE c.oid = $1::text::regclass AND grantee <> c.relowner`,
		[next],
	);
	return found.map(({ sql }) => sql);
}

/** @param next the table or view that shall have the rights of this one. */
export async function grantsOf(
	transaction: Transaction,
	oid: string,
	next: string,
	columns: readonly string[],
): Promise<string[]> {
	const found = await transaction.rows<{ sql: string }>(
		`SELECT format('GRANT %s ON %s TO %s%s', privilege_type, $2::text, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
			CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS sql
		FROM pg_class c, aclexplode(c.relacl) WHERE c.oid = $1 AND grantee <> c.relowner
		UNION ALL
		SELECT format('GRANT %s (%I) ON %s TO %s%s', privilege_type, attname, $2::text, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
			CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
		FROM pg_attribute a, aclexplode(a.attacl) WHERE a.attrelid = $1 AND NOT attisdropped AND attname::text = ANY($3::text[])
		ORDER BY sql`,
		[oid, next, columns],
	);
	return found.map(({ sql }) => sql);
}

/** A name as the server itself writes it. */
async function identOf(
	transaction: Transaction,
	schema: string,
	table: string,
): Promise<string> {
	const [found] = await transaction.rows<{ name: string }>(
		"SELECT format('%I.%I', $1::text, $2::text) AS name",
		[schema, table],
	);
	return found!.name;
}

/**
 * Makes the indexes that the Pipeline names, unless the table has one on these columns. Not by the index's name: a table that was
 * renamed keeps its indexes' names, which must be free in all of the schema.
 * @param on Name that the table has now.
 */
export async function makeIndexes(
	transaction: Transaction,
	schema: string,
	{ name: table, options }: LoadInput["table"],
	on = table,
): Promise<void> {
	const { indexes = [] }: PostgresTableOptions = options ?? {};
	const relation = nameOf(schema, on);
	for (const columns of indexes) {
		const found = await transaction.rows(
			`SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
			WHERE i.indrelid = $1::text::regclass AND m.amname = 'btree' AND i.indisvalid AND i.indpred IS NULL
				AND (SELECT array_agg(a.attname::text ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k (number, place)
					LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number WHERE k.place <= i.indnkeyatts) = $2::text[]
			LIMIT 1`,
			[relation, columns],
		);
		if (found.length > 0) continue;
		const digest = createHash("sha256")
			.update(`${table}\0${columns.join("\0")}`)
			.digest("hex")
			.slice(0, 8);
		const wanted = fitting(`${table}_${columns.join("_")}`, `_${digest}`);
		const name = await freeName(transaction, schema, wanted);
		await transaction.run(
			`CREATE INDEX ${quoteName(name)} ON ${relation} (${columns.map(quoteName).join(", ")})`,
		);
	}
}

/** The staging table that is filled, with the partitions that it has. */
interface Staged {
	schema: string;
	staging: string;
	partitions: readonly (readonly [staged: string, date: UtcDate])[];
}

/** The view of the table's latest rows. */
interface TableView {
	oid: string | undefined;
	lock(): Promise<void>;
	write(table: string): Promise<void>;
}

/** Puts a new table in the place of what is there. Readers wait for it from here on. */
export async function takePlace(
	transaction: Transaction,
	table: LoadInput["table"],
	existing: PostgresTable | undefined,
	view: TableView,
	{ schema, staging, partitions }: Staged,
): Promise<void> {
	const { name, columns } = table;
	const [old, next] = [name, staging].map((one) => nameOf(schema, one));
	const isTable = existing !== undefined && existing.otherKind === undefined;
	const belongings = async () =>
		isTable
			? belongingsOf(
					transaction,
					existing.oid,
					{ schema, table: name, staging },
					columns.map(({ name }) => name),
				)
			: { before: [], after: [] };
	// Before the lock, since an index takes as long as many rows do.
	if (isTable)
		for (const sql of await revokesOf(transaction, next!))
			await transaction.run(sql);
	const kept = await belongings();
	for (const sql of kept.before) await transaction.run(sql);
	await makeIndexes(transaction, schema, table, staging);
	await view.lock();
	if (isTable) {
		await lockAlone(transaction, old!);
		await requireReplaceable(transaction, existing.oid, name, view.oid);
		if (!isDeepStrictEqual(await belongings(), kept))
			throw new TableChanged(name, "got other rights, comments or indexes");
		const former = `${staging}_old`;
		await transaction.run(`ALTER TABLE ${old} RENAME TO ${quoteName(former)}`);
		await transaction.run(`ALTER TABLE ${next} RENAME TO ${quoteName(name)}`);
		// It reads the new table from now on.
		await view.write(name);
		await transaction.run(`DROP TABLE ${nameOf(schema, former)}`);
		for (const sql of kept.after) await transaction.run(sql);
	} else {
		if (existing)
			await transaction.run(`DROP ${existing.otherKind!.toUpperCase()} ${old}`);
		await transaction.run(`ALTER TABLE ${next} RENAME TO ${quoteName(name)}`);
		await view.write(name);
	}
	for (const [part, date] of partitions) {
		const free = await freePartitionName(transaction, schema, name, date);
		await transaction.run(
			`ALTER TABLE ${nameOf(schema, part)} RENAME TO ${quoteName(free)}`,
		);
	}
}

export async function lock(
	transaction: Transaction,
	name: string,
): Promise<void> {
	await transaction.run(
		"SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
		[`tidemill ${name}`],
	);
}

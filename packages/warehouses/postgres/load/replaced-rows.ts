import { randomBytes, randomUUID } from "node:crypto";
import type { TableColumn } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { JobFailure } from "../../load/failure.ts";
import { TableChanged, type WarehouseContext } from "../../load/warehouse.ts";
import type { PostgresTableOptions } from "../input.ts";
import { nameOf, type Partition } from "./catalog.ts";
import type { Database, Transaction } from "./database.ts";
import { typeOf } from "./plan.ts";
import {
	requireReplaced,
	requireTouched,
	type StatementKind,
} from "./touched-rows.ts";

/** What a relation shall hold: a partition, or a table that has none. */
export interface WantedRows {
	schema: string;
	table: string;
	relation: Partition;
	columns: readonly TableColumn[];
	options?: PostgresTableOptions | undefined;
	/** Whether rows that are there may be like those that come; if not, nothing is compared. */
	mayStay: boolean;
	/** Copies the rows into a relation, and returns how many; absent if there are none. */
	fill?: Fill | undefined;
}

type Fill = (relation: string) => Promise<number>;

/** What became of the rows that were there. */
export interface FormerRows {
	/** Whether some died, whose room a vacuum gives back. */
	died: boolean;
	/** The transactions that those wrote which stay. */
	xids: string[];
	/** What the rows that came took beside the table, until the transaction ends; absent if they came into the table itself. */
	besideBytes?: number;
}

/**
 * Gives a relation the rows that are wanted, and changes those alone that differ. The row of an event is updated if a byte differs of
 * what Tidemill fills, but for which load wrote it when. Without a column of the ids, or if one is there twice, equal rows stay by
 * their number, and the others go and come. No statement that changes nothing runs on the relation: triggers see it.
 *
 * The rows come into a table that nobody else sees and no log has. A relation is filled at once if it has none that could stay, or if
 * nobody would see the difference.
 */
export async function replaceRows(
	transaction: Transaction,
	wanted: WantedRows,
): Promise<FormerRows> {
	const { relation, columns, mayStay, fill } = wanted;
	const { rowsOf = relation.name } = relation;
	const [found] = await transaction.rows<{
		isHeld: boolean;
		isWatched: boolean;
		isHidden: boolean;
		mayInterfere: boolean;
	}>(
		`SELECT EXISTS (SELECT FROM ${rowsOf}) AS "isHeld", row_security_active($1::oid) AS "isHidden", count(*) > 0 AS "isWatched",
			count(*) FILTER (WHERE NOT tgisinternal) > 0 OR EXISTS (SELECT FROM pg_rewrite WHERE ev_class = $1) AS "mayInterfere"
		FROM pg_trigger WHERE tgrelid IN (SELECT $1::oid UNION SELECT relid FROM pg_partition_tree($1::oid))`,
		[relation.oid],
	);
	const { isHeld, isWatched, isHidden, mayInterfere } = found!;
	if (
		fill &&
		isHeld &&
		// A foreign key that refers to the rows has triggers, too.
		(mayStay || isWatched) &&
		// Those that come would stand beside those that nobody shows us. The server refuses COPY then.
		!isHidden &&
		comparedOf(columns).length > 0
	)
		return changeRows(transaction, wanted, fill, mayInterfere);
	if (isHeld) await transaction.run(`DELETE FROM ${rowsOf}`);
	const rows = (await fill?.(relation.name)) ?? 0;
	await requireReplaced(transaction, relation, rows);
	return { died: isHeld, xids: [] };
}

async function changeRows(
	transaction: Transaction,
	wanted: WantedRows,
	fill: Fill,
	mayInterfere: boolean,
): Promise<FormerRows> {
	const { schema, table, relation, columns } = wanted;
	const own = `_tidemill_${randomUUID().slice(0, 13)}`;
	const stage = nameOf(schema, own);
	const pairs = nameOf(schema, `${own}_p`);
	const { name, rowsOf = name } = relation;
	const names = columns.map(({ name }) => quoteName(name));
	await transaction.run(
		`CREATE UNLOGGED TABLE ${stage} AS SELECT ${names.join(", ")} FROM ${name} WITH NO DATA`,
	);
	// What comes into the relation is compressed as that has it, and the rest never.
	const texts = columns
		.filter((one) => /^(text|jsonb)$/.test(typeOf(one, wanted.options)))
		.map(({ name }) => `ALTER ${quoteName(name)} SET STORAGE EXTERNAL`);
	if (texts.length > 0)
		await transaction.run(`ALTER TABLE ${stage} ${texts.join(", ")}`);
	await fill(stage);
	const [taken] = await transaction.rows<{ bytes: string }>(
		"SELECT pg_total_relation_size($1::regclass)::text AS bytes",
		[stage],
	);
	const besideBytes = Number(taken!.bytes);
	// Tables of which Postgres knows nothing yet look so large that it would compile each query.
	await transaction.run("SET LOCAL jit = off");
	const hash = hashOf(wanted);
	const [before, after] = [
		await sumOf(transaction, rowsOf, hash),
		await sumOf(transaction, stage, hash),
	];
	if (before.rows === after.rows && before.sum === after.sum) {
		await transaction.run(`DROP TABLE ${stage}`);
		return { died: false, xids: before.xids, besideBytes };
	}
	const id = columns.find(({ from }) => from === "EventID")?.name;
	const compare = (by: Comparison) =>
		findPairs(transaction, { rowsOf, stage, pairs }, by);
	let found = id === undefined ? undefined : await compare(byId(id, hash));
	if (found?.old !== before.rows || found.new !== after.rows) {
		if (found) await transaction.run(`DROP TABLE ${pairs}`);
		found = await compare(byWholeRows(hash));
	}
	const { gone, changed, come, xids } = found;
	const how =
		changed > 1
			? await updateOf(transaction, { table, relation, stage, pairs }, columns)
			: "Update";
	const [both, isOld] = [
		`${pairs} d JOIN ${stage} n ON n.ctid = d.new`,
		"NOT d.same AND o.tableoid = d.part AND o.ctid = d.old AND o.xmin = d.xid",
	];
	const goes = how === "Exchange" ? "" : "d.new IS NULL AND ";
	const comes = how === "Exchange" ? "" : " AND d.old IS NULL";
	const moved = how === "Exchange" ? changed : 0;
	// What others hold of an event that has changed, or was erased, is gone with it.
	const others = await transaction.rows<{ name: string }>(
		"SELECT attname::text AS name FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = '' AND attname::text <> ALL($2::text[])",
		[relation.oid, columns.map(({ name }) => name)],
	);
	const values = [
		...names.map((name) => `${name} = n.${name}`),
		...others.map(({ name }) => `${quoteName(name)} = DEFAULT`),
	];
	const statements: [kind: StatementKind, rows: number, sql: string][] = [
		[
			"DELETE",
			gone + moved,
			`DELETE FROM ${rowsOf} o USING ${pairs} d WHERE ${goes}${isOld}`,
		],
		[
			"UPDATE",
			changed - moved,
			`UPDATE ${rowsOf} o SET ${values.join(", ")} FROM ${both} WHERE ${isOld}`,
		],
		[
			"INSERT",
			come + moved,
			`INSERT INTO ${name} (${names.join(", ")}) OVERRIDING SYSTEM VALUE SELECT ${names.map((name) => `n.${name}`).join(", ")} FROM ${both} WHERE NOT d.same${comes}`,
		],
	];
	if (how === "Defer") await transaction.run("SET CONSTRAINTS ALL DEFERRED");
	for (const [kind, rows, sql] of statements) {
		const touched = rows > 0 ? await transaction.run(sql) : 0;
		// Without a trigger or a rule, somebody has changed a row since it was compared.
		if (touched < rows && !mayInterfere) throw new TableChanged(table);
		await requireTouched(transaction, name, kind, rows, touched);
	}
	await transaction.run(`DROP TABLE ${stage}, ${pairs}`);
	await requireReplaced(transaction, relation, Number(after.rows));
	return { died: gone + changed > 0, xids, besideBytes };
}

/**
 * An expression that differs for rows that differ in a byte of what is compared, but for one case in 2⁶⁴: of jsonb, numeric and double
 * precision `=` calls different ones equal, and the hash of a number of 64 bits is that of others, so it has their text or bytes. Nobody
 * outside knows the seed.
 */
function hashOf({ columns, options }: WantedRows): string {
	const values = comparedOf(columns).map((column) => {
		const value = quoteName(column.name);
		switch (typeOf(column, options)) {
			case "text":
			case "date":
			case "boolean":
				return value;
			case "timestamp with time zone":
				return `timestamptz_send(${value})::text`;
			case "bigint":
				return `int8send(${value})::text`;
			case "double precision":
				return `float8send(${value})::text`;
			default:
				return `${value}::text`;
		}
	});
	const seed = randomBytes(8).readBigInt64BE();
	// The first is a sum over the columns, in which rows may exchange values unseen by a sum over rows.
	return `hashtextextended(hash_record_extended(ROW(${values.join(", ")}), '${seed}')::text, '${seed}')`;
}

/** How many rows a relation has, what they are, and which transactions wrote them. */
async function sumOf(
	transaction: Transaction,
	name: string,
	hash: string,
): Promise<{ rows: string; sum: string | null; xids: string[] }> {
	const [found] = await transaction.rows<{
		rows: string;
		sum: string | null;
		xids: string[];
	}>(
		`SELECT coalesce(sum(rows), 0)::text AS rows, sum(hashes)::text AS sum, coalesce(array_agg(xid::text), '{}') AS xids
		FROM (SELECT xmin AS xid, count(*) AS rows, sum(${hash}) AS hashes FROM ${name} GROUP BY xmin) AS written`,
	);
	return found!;
}

/** Which rows belong together, of the old ones `o` and the new ones `n`. */
interface Comparison {
	/** What a query selects of the old rows, and of the new ones. */
	key: string;
	isPair: string;
	isSame: string;
}

function byId(id: string, hash: string): Comparison {
	return {
		// Whatever the column's collation calls equal.
		key: `${quoteName(id)} COLLATE "C" AS key, ${hash} AS hash`,
		isPair: "o.key = n.key",
		isSame: "o.hash = n.hash",
	};
}

function byWholeRows(hash: string): Comparison {
	return {
		key: `${hash} AS key, row_number() OVER (PARTITION BY ${hash}) AS number`,
		isPair: "o.key = n.key AND o.number = n.number",
		isSame: "true",
	};
}

function comparedOf(columns: readonly TableColumn[]): readonly TableColumn[] {
	return columns.filter(({ from }) => from !== "LoadedAt" && from !== "Run");
}

interface Compared {
	rowsOf: string;
	stage: string;
	pairs: string;
}

/** Writes down which rows belong together, and which of these are the same. */
async function findPairs(
	transaction: Transaction,
	{ rowsOf, stage, pairs }: Compared,
	{ key, isPair, isSame }: Comparison,
) {
	await transaction.run(
		`CREATE UNLOGGED TABLE ${pairs} AS
		SELECT o.part, o.tid AS old, o.xid, n.tid AS new, o.tid IS NOT NULL AND n.tid IS NOT NULL AND ${isSame} AS same
		FROM (SELECT tableoid AS part, ctid AS tid, xmin AS xid, ${key} FROM ${rowsOf}) o
			FULL JOIN (SELECT ctid AS tid, ${key} FROM ${stage}) n ON ${isPair}`,
	);
	const [found] = await transaction.rows<{
		old: string;
		new: string;
		gone: string;
		changed: string;
		come: string;
		xids: string[] | null;
	}>(
		`SELECT count(old)::text AS old, count(new)::text AS new, count(*) FILTER (WHERE new IS NULL)::text AS gone,
			count(*) FILTER (WHERE old IS NULL)::text AS come, count(*) FILTER (WHERE NOT same AND old IS NOT NULL AND new IS NOT NULL)::text AS changed,
			array_agg(DISTINCT xid::text) FILTER (WHERE same) AS xids
		FROM ${pairs}`,
	);
	return {
		...found!,
		gone: Number(found!.gone),
		changed: Number(found!.changed),
		come: Number(found!.come),
		xids: found!.xids ?? [],
	};
}

/**
 * How rows are updated. The server checks each row by itself, so rows that exchange values of a unique index need its check to wait
 * (`Defer`), or go and come (`Exchange`). Throws RowsRefused if neither is possible: rows that a foreign key refers to mustn't go.
 */
async function updateOf(
	transaction: Transaction,
	{
		table,
		relation,
		stage,
		pairs,
	}: Omit<Compared, "rowsOf"> & Pick<WantedRows, "table" | "relation">,
	columns: readonly TableColumn[],
): Promise<"Update" | "Defer" | "Exchange"> {
	const { oid, name, rowsOf = name } = relation;
	const ours = columns
		.filter(({ from }) => from !== "EventID" && from !== "Date")
		.map(({ name }) => name);
	const indexes = await transaction.rows<{
		name: string;
		isImmediate: boolean;
		isPlain: boolean;
		keys: string[];
	}>(
		`SELECT c.relname::text AS name, indimmediate AS "isImmediate", NOT indisexclusion AND indexprs IS NULL AS "isPlain",
			ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = indrelid AND a.attnum = ANY((indkey::int2[])[0:indnkeyatts - 1])) AS keys
		FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = $1 AND (indisunique OR indisexclusion) ORDER BY indimmediate DESC, c.relname`,
		[oid],
	);
	const exchanged: typeof indexes = [];
	for (const index of indexes) {
		const { isPlain, keys } = index;
		if (isPlain && !keys.some((key) => ours.includes(key))) continue;
		const rows = `(SELECT o.ctid AS tid, o.tableoid AS part, ROW(${keys.map((key) => `o.${quoteName(key)}`).join(", ")}) AS before,
			ROW(${keys.map((key) => `${ours.includes(key) ? "n" : "o"}.${quoteName(key)}`).join(", ")}) AS after
			FROM ${pairs} d JOIN ${rowsOf} o ON o.tableoid = d.part AND o.ctid = d.old JOIN ${stage} n ON n.ctid = d.new WHERE NOT d.same)`;
		const [found] = isPlain
			? await transaction.rows(
					`SELECT FROM ${rows} a JOIN ${rows} b ON a.after = b.before AND (a.part, a.tid) <> (b.part, b.tid) LIMIT 1`,
				)
			: [index];
		if (found) exchanged.push(index);
	}
	const immediate = exchanged.find(({ isImmediate }) => isImmediate);
	if (!immediate) return exchanged.length > 0 ? "Defer" : "Update";
	const [key] = await transaction.rows<{ name: string }>(
		"SELECT conname::text AS name FROM pg_constraint WHERE contype = 'f' AND confrelid = $1 LIMIT 1",
		[oid],
	);
	if (!key) return "Exchange";
	throw new JobFailure(
		"RowsRefused",
		`Rows of table ${table} exchange values of its unique index "${immediate.name}", and the foreign key "${key.name}" refers to them, so they can't go and come. Make the constraint of the index DEFERRABLE, or drop one of the two`,
	);
}

/**
 * Vacuums what has dead rows, so that the next replacement uses their room. Without the end of the file, whose removal would cancel
 * readers on a standby.
 * @param relations with their schema, for SQL.
 */
export async function vacuum(
	database: Pick<Database, "alone">,
	relations: readonly string[],
	log: WarehouseContext["log"],
): Promise<void> {
	for (const relation of relations)
		await database
			.alone(`VACUUM (TRUNCATE false, SKIP_LOCKED) ${relation}`)
			.catch(({ message }) =>
				log.warn(
					{ partition: relation, reason: message },
					"dead rows stay until Postgres' own vacuum",
				),
			);
}

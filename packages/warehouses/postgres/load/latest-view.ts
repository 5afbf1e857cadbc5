import type { LoadInput } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { writeComment } from "../../load/columns.ts";
import {
	type FoundView,
	latestSql,
	rewrittenWords,
	type ViewChange,
	viewChange,
	viewMarkIn,
} from "../../load/latest-view.ts";
import type { ExistingColumn, WantedColumn } from "../../load/table-plan.ts";
import type { PostgresTableOptions } from "../input.ts";
import { kinds, literal, nameOf, type PostgresTable } from "./catalog.ts";
import type { Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";
import { wantedColumns } from "./plan.ts";
import { grantsOf, lockAlone, revokesOf } from "./swap.ts";

/**
 * The view of a table's latest rows, in a transaction that changes the table. It reads the table itself, and not its name, so that a
 * new table in the old one's place needs it to be written anew.
 *
 * What people have built on the view never stops the table. The view keeps the columns that it has, in their order, and new ones come
 * at its end, so that CREATE OR REPLACE takes it. A view that would lose a column or change its type is made anew if nothing depends
 * on it.
 */
export class PostgresView {
	readonly #transaction: Transaction;
	readonly #schema: string;
	readonly #change: ViewChange | undefined;
	readonly #wanted: readonly WantedColumn[];
	readonly #found: FoundPostgresView | undefined;
	/** What it selects, from a table of a name; undefined if it is dropped or stays. */
	readonly #select: ((from: string) => string) | undefined;
	/** For people, of what isn't as the Pipeline asks; undefined if all is. */
	readonly words: string | undefined;

	/**
	 * @param table undefined if there is none.
	 * @param isReplaced Whether another table takes its place.
	 * Throws what {@link viewChange} throws, and TableInUse if the view must stay and can't, before anything changes.
	 */
	static async find(
		transaction: Transaction,
		schema: string,
		input: LoadInput,
		table: Pick<PostgresTable, "oid" | "columns"> | undefined,
		isReplaced: boolean,
	): Promise<PostgresView> {
		const { latest } = input.table;
		const found =
			latest && (await findView(transaction, schema, latest.name, table?.oid));
		return new PostgresView(
			transaction,
			schema,
			input,
			found,
			isReplaced ? [] : (table?.columns ?? []),
			isReplaced,
		);
	}

	private constructor(
		transaction: Transaction,
		schema: string,
		input: LoadInput,
		found: FoundPostgresView | undefined,
		others: readonly ExistingColumn[],
		isReplaced: boolean,
	) {
		this.#transaction = transaction;
		this.#schema = schema;
		this.#found = found;
		const { name: table, columns, options } = input.table;
		this.#wanted = wantedColumns(columns, options as PostgresTableOptions);
		const shown = shownColumns(this.#wanted, others, found);
		const change = viewChange(
			input,
			found,
			select(input, shown, "table"),
			isReplaced,
		);
		if (change && found?.owner) {
			this.words = `View ${found.name} stays as it is, since ${found.owner} owns it: give it to the user that loads table ${table}, or drop it`;
			return;
		}
		this.words = rewrittenWords(change);
		const users = found?.users ?? [];
		const stays = change?.do === "Drop" && users.length > 0;
		this.#change = stays && !isReplaced ? undefined : change;
		if (!stays) {
			const lost = shown.filter(({ isLost }) => isLost).map(({ name }) => name);
			if (lost.length > 0)
				this.words ??= `View ${found!.name} has NULL in ${lost.join(", ")}, since table ${table} has no such column of the earlier type any more. ${keptWords(users)}`;
			if (change?.do === "Write")
				this.#select = (from) => select(input, shown, from);
			return;
		}
		this.words = `View ${found!.name} stays, though the Pipeline asks for none. ${keptWords(users)}`;
		if (!isReplaced) return;
		if (!found!.columns.every((column) => this.#wanted.some(isLike(column))))
			throw new PostgresFailure(
				"TableInUse",
				`A new table without columns of view ${found!.name} would take the place of table ${table}. ${keptWords(users)}`,
			);
		// By the name that the new table has by then.
		this.#select = () => found!.definition!;
	}

	/** Oid of the view that is there and changes. */
	get oid(): string | undefined {
		return this.#change && this.#found?.oid;
	}

	/**
	 * Waits until nobody reads the view that changes, and keeps others from it. Before the table is locked: who reads the view
	 * locks it first, too.
	 */
	async lock(): Promise<void> {
		if (!this.oid) return;
		const view = nameOf(this.#schema, this.#change!.name);
		await lockAlone(this.#transaction, view);
	}

	/** @param table Name under which the table stands now. */
	async write(table: string): Promise<void> {
		const change = this.#change;
		if (!change) return;
		const view = nameOf(this.#schema, change.name);
		if (!this.#select) {
			await this.#transaction.run(`DROP VIEW ${view}`);
			return;
		}
		const { oid } = this;
		const { columns = [], users = [], settings } = this.#found ?? {};
		const isKept =
			users.length > 0 ||
			columns.every((column) => this.#wanted.some(isLike(column)));
		let rights: string[] = [];
		// One that is replaced keeps its grants, and what people built on it.
		if (oid && !isKept) {
			const names = this.#wanted.map(({ name }) => name);
			rights = await grantsOf(this.#transaction, oid, view, names);
			await this.#transaction.run(`DROP VIEW ${view}`);
		}
		await this.#transaction.run(
			`CREATE OR REPLACE VIEW ${view}${settings ? ` WITH (${settings})` : ""} AS ${this.#select(nameOf(this.#schema, table))}`,
		);
		if (oid && !isKept)
			rights.unshift(...(await revokesOf(this.#transaction, view)));
		for (const sql of rights) await this.#transaction.run(sql);
		if (change.do === "Drop") return;
		const [written] = await this.#transaction.rows<{ made: string }>(
			`SELECT ${madeSql} AS made FROM pg_class c WHERE c.oid = $1::text::regclass`,
			[view],
		);
		const mark = { ...change.mark, made: written!.made };
		const comment = writeComment(change.words, mark);
		await this.#transaction.run(
			`COMMENT ON VIEW ${view} IS ${literal(comment)}`,
		);
	}
}

function keptWords(users: readonly string[]): string {
	return `It can't change while ${users.join(", ")} depends on it: make that anew without it, and the next Run changes the view`;
}

function isLike({ name, type }: Pick<ExistingColumn, "name" | "type">) {
	return (other: Pick<ExistingColumn, "name" | "type">) =>
		other.name === name && other.type === type;
}

/** A column of the view. */
interface ShownColumn {
	name: string;
	/** Of the table's column, if the view's has another type; undefined if they are alike. */
	expression?: string;
	isLost?: boolean;
}

/** @param others Columns of the table that the Pipeline may not name. */
function shownColumns(
	wanted: readonly WantedColumn[],
	others: readonly ExistingColumn[],
	{ columns, users }: Pick<FoundPostgresView, "columns" | "users"> = {
		columns: [],
		users: [],
	},
): ShownColumn[] {
	const isWanted = columns.every((column) => wanted.some(isLike(column)));
	if (!isWanted && users.length === 0) return [...wanted];
	const all = [...wanted, ...others];
	return [
		...columns.map(({ name, type }): ShownColumn => {
			if (all.some(isLike({ name, type }))) return { name };
			const isThere = all.some((column) => column.name === name);
			// Every type has its text; the way back may fail at a value.
			return isThere && type === "text"
				? { name, expression: `${quoteName(name)}::text` }
				: { name, expression: `NULL::${type}`, isLost: true };
		}),
		...wanted.filter(({ name }) => !columns.some((one) => one.name === name)),
	];
}

/**
 * A digest of a view's query as the server holds it, of pg_class as `c`. CREATE OR REPLACE VIEW by a person leaves the comment, and
 * another name of the table leaves the query. A restored database has another one, and the view is written anew.
 */
const madeSql =
	"(SELECT md5(ev_action::text) FROM pg_rewrite WHERE ev_class = c.oid AND rulename = '_RETURN')";

/** What depends on pg_class as `c`, or on the type of its rows, but for its own rule. A view depends by its rule. */
const usersSql = `ARRAY(SELECT DISTINCT regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), '^rule "?_RETURN"? on ', '')
	FROM pg_depend d WHERE d.deptype = 'n' AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid
		OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (SELECT t.oid FROM pg_type t WHERE t.typrelid = c.oid OR t.typelem = c.reltype))
	AND NOT EXISTS (SELECT 1 FROM pg_rewrite r WHERE d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid AND r.ev_class = c.oid) ORDER BY 1 LIMIT 10)`;

/** What has the name of the view. */
interface FoundPostgresView extends FoundView {
	oid: string;
	name: string;
	/** Such as security_invoker=true, without which it might show rows that its readers mustn't see. */
	settings: string | null;
	/** Null if the loader may change it. */
	owner: string | null;
	columns: { name: string; type: string }[];
	/** What depends on it, in words. */
	users: string[];
	/** Its query, by the names that tables have now. */
	definition: string | null;
}

/** Reads no rows: the table may be one that the account mustn't read. */
async function findView(
	transaction: Transaction,
	schema: string,
	name: string,
	table: string | undefined,
): Promise<FoundPostgresView | undefined> {
	const [found] = await transaction.rows<
		Omit<FoundPostgresView, "name" | "kind" | "mark" | "isAsMade"> & {
			kind: string;
			comment: string | null;
			reads: boolean;
			made: string | null;
		}
	>(
		`SELECT c.oid::text AS oid, c.relkind::text AS kind, obj_description(c.oid, 'pg_class') AS comment, ${madeSql} AS made,
			array_to_string(c.reloptions, ', ') AS settings, CASE WHEN NOT pg_has_role(c.relowner, 'USAGE') THEN c.relowner::regrole::text END AS owner,
			EXISTS (SELECT 1 FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid WHERE d.classid = 'pg_rewrite'::regclass
				AND d.refclassid = 'pg_class'::regclass AND r.ev_class = c.oid AND d.refobjid = $3::oid) AS reads,
			${usersSql} AS users, CASE c.relkind WHEN 'v' THEN pg_get_viewdef(c.oid) END AS definition,
			(SELECT coalesce(json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod)) ORDER BY attnum), '[]')
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
		[schema, name, table ?? null],
	);
	if (!found) return undefined;
	const { kind, comment, reads, made, ...rest } = found;
	const mark = kind === "v" ? viewMarkIn(comment) : undefined;
	const isAsMade = reads && mark?.made === made;
	return { ...rest, name, kind: kinds[kind] ?? "table", mark, isAsMade };
}

function select(
	{ table: { columns, latest = { name: "", by: [] } } }: LoadInput,
	shown: readonly ShownColumn[],
	from: string,
): string {
	const { key, newest } = latestSql(columns, latest, quoteName);
	const read = shown.filter(({ isLost }) => !isLost);
	const names = read.map(({ name }) => quoteName(name)).join(", ");
	const rows = `SELECT DISTINCT ON (${key}) ${names} FROM ${from} ORDER BY ${key}, ${newest}`;
	if (shown.every(({ expression }) => expression === undefined)) return rows;
	const all = shown.map(({ name, expression }) =>
		expression === undefined
			? quoteName(name)
			: `${expression} AS ${quoteName(name)}`,
	);
	return `SELECT ${all.join(", ")} FROM (${rows}) AS latest`;
}

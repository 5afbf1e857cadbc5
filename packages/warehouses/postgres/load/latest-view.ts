import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import {
	latestSql,
	rewrittenWords,
	type ViewChange,
	viewChange,
	viewMarkIn,
} from "../../load/latest-view.ts";
import { writeComment } from "../../load/table-comment.ts";
import type { PostgresTableOptions } from "../input.ts";
import { kinds, literal, nameOf } from "./catalog.ts";
import type { Transaction } from "./database.ts";
import { wantedColumns } from "./schema.ts";
import { grantsOf, lockAlone, revokesOf } from "./swap.ts";

/**
 * The view of a table's latest rows, in a transaction that changes the table. It reads the table itself, and not its name, so that a
 * new table in the old one's place needs it to be written anew.
 */
export class PostgresView {
	readonly #transaction: Transaction;
	readonly #schema: string;
	readonly #input: LoadInput;
	readonly #change: ViewChange | undefined;
	/** Of the view that is there and changes. */
	readonly oid: string | undefined;

	/**
	 * @param table Oid of the table; undefined if there is none.
	 * @param isReplaced Whether another table takes its place.
	 * Throws what {@link viewChange} throws, before anything changes.
	 */
	static async find(
		transaction: Transaction,
		schema: string,
		input: LoadInput,
		table: string | undefined,
		isReplaced: boolean,
	): Promise<PostgresView> {
		const { latest } = input.table;
		const found =
			latest && (await findView(transaction, schema, latest.name, table));
		const change = viewChange(input, found, select(input, "table"), isReplaced);
		return new PostgresView(
			transaction,
			schema,
			input,
			change,
			change && found?.oid,
		);
	}

	private constructor(
		transaction: Transaction,
		schema: string,
		input: LoadInput,
		change: ViewChange | undefined,
		oid: string | undefined,
	) {
		this.#transaction = transaction;
		this.#schema = schema;
		this.#input = input;
		this.#change = change;
		this.oid = oid;
	}

	/** See {@link rewrittenWords}. */
	get words(): string | undefined {
		return rewrittenWords(this.#change);
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

	/** @param table Name of the table, under which it stands now. */
	async write(table = this.#input.table.name): Promise<void> {
		const change = this.#change;
		if (!change) return;
		const view = nameOf(this.#schema, change.name);
		if (change.do === "Drop") {
			await this.#transaction.run(`DROP VIEW ${view}`);
			return;
		}
		const sql = select(this.#input, nameOf(this.#schema, table));
		const { oid } = this;
		const present = oid
			? await this.#transaction.rows<{ name: string; type: string }>(
					`SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
					WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
					[oid],
				)
			: [];
		const { columns, options } = this.#input.table;
		const wanted = wantedColumns(columns, options as PostgresTableOptions).map(
			({ name, type }) => ({ name, type }),
		);
		// As it is replaced, it keeps its grants and the views on it. For that its columns must stay the first ones.
		if (oid && !isDeepStrictEqual(present, wanted.slice(0, present.length))) {
			const names = wanted.map(({ name }) => name);
			const grants = await grantsOf(this.#transaction, oid, view, names);
			await this.#transaction.run(`DROP VIEW ${view}`);
			await this.#transaction.run(`CREATE VIEW ${view} AS ${sql}`);
			const revokes = await revokesOf(this.#transaction, view);
			for (const sql of [...revokes, ...grants])
				await this.#transaction.run(sql);
		} else
			await this.#transaction.run(
				`CREATE ${oid ? "OR REPLACE " : ""}VIEW ${view} AS ${sql}`,
			);
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

/**
 * A digest of a view's query as the server holds it, of pg_class as `c`. CREATE OR REPLACE VIEW by a person leaves the comment, and
 * another name of the table leaves the query. A restored database has another one, and the view is written anew.
 */
const madeSql =
	"(SELECT md5(ev_action::text) FROM pg_rewrite WHERE ev_class = c.oid AND rulename = '_RETURN')";

/** What has the name of the view. Reads no rows: the table may be one that the account mustn't read. */
async function findView(
	transaction: Transaction,
	schema: string,
	name: string,
	table: string | undefined,
) {
	const [found] = await transaction.rows<{
		oid: string;
		kind: string;
		comment: string | null;
		reads: boolean;
		made: string | null;
	}>(
		`SELECT c.oid::text AS oid, c.relkind::text AS kind, obj_description(c.oid, 'pg_class') AS comment, ${madeSql} AS made,
			EXISTS (SELECT 1 FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid WHERE d.classid = 'pg_rewrite'::regclass
				AND d.refclassid = 'pg_class'::regclass AND r.ev_class = c.oid AND d.refobjid = $3::oid) AS reads
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
		[schema, name, table ?? null],
	);
	if (!found) return undefined;
	const { oid, kind, comment, reads, made } = found;
	const mark = kind === "v" ? viewMarkIn(comment) : undefined;
	const isAsMade = reads && mark?.made === made;
	return { oid, kind: kinds[kind] ?? "table", mark, isAsMade };
}

function select(
	{ table: { columns, latest = { name: "", by: [] } } }: LoadInput,
	from: string,
): string {
	const { all, key, newest } = latestSql(columns, latest, quoteName);
	return `SELECT DISTINCT ON (${key}) ${all} FROM ${from} ORDER BY ${key}, ${newest}`;
}

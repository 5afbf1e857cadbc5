import { randomUUID } from "node:crypto";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { HeldDate, LoadDay } from "../../load/load-day.ts";
import { loadTable } from "../../load/load-table.ts";
import { ownerOf } from "../../load/table-mark.ts";
import { heldDates, type TableTypes } from "../../load/table-plan.ts";
import type { UnheldValues } from "../../load/value-counts.ts";
import type {
	DayFiles,
	RowAccess,
	Warehouse,
	WarehouseContext,
	WarehouseModule,
} from "../../load/warehouse.ts";
import type { PostgresInput } from "../input.ts";
import {
	commentedTables,
	detachedPartitions,
	findTable,
	literal,
	nameOf,
	partitionOf,
} from "./catalog.ts";
import { unheldValues } from "./copy.ts";
import { Database, type Transaction } from "./database.ts";
import { PostgresFailure } from "./failure.ts";
import { PostgresView } from "./latest-view.ts";
import {
	guardPartition,
	requireErasable,
	requireRights,
	tellHolders,
} from "./partition-guards.ts";
import { planPostgres, postgresTables, wantedColumns } from "./plan.ts";
import { heldDate, recordedLoads, recordTable } from "./record.ts";
import { requireReplaceable } from "./swap.ts";
import { PostgresLoad } from "./table-load.ts";
import { changeRows, countAll } from "./touched-rows.ts";

/** A schema of a Postgres database. A transaction changes each day, or a whole table. */
class PostgresWarehouse implements Warehouse {
	readonly #input: PostgresInput;
	readonly #context: WarehouseContext;
	#database: Promise<Database> | undefined;
	#ofConnection: string | undefined;
	#ofView: string | undefined;

	constructor(input: PostgresInput, context: WarehouseContext) {
		this.#input = input;
		this.#context = context;
	}

	get warning(): string | undefined {
		return this.#ofView ?? this.#ofConnection;
	}

	async held(
		input: LoadInput,
		manifest: Manifest,
	): Promise<ReadonlyMap<UtcDate, HeldDate> | undefined> {
		const { schema } = this.#input;
		const { name } = input.table;
		return this.#inTransaction(
			[name],
			async (transaction) => {
				const existing = await findTable(transaction, schema, name);
				return heldDates(
					postgresTables,
					input,
					manifest,
					existing,
					async ({ oid }, record, dates) => {
						await requireRights(
							transaction,
							{ oid, dates, rights: ["SELECT"] },
							nameOf(schema, recordTable),
						);
						const about = { schema, table: name, record };
						const loads = await recordedLoads(transaction, about, dates);
						return async (date, isOld) =>
							heldDate(
								transaction,
								await partitionOf(transaction, oid, date),
								loads.get(date) ?? [],
								isOld,
							);
					},
				);
			},
			"REPEATABLE READ",
		);
	}

	requireUsable(input: LoadInput, manifest: Manifest): Promise<void> {
		const { schema } = this.#input;
		const { name } = input.table;
		return this.#inTransaction([name], async (transaction) => {
			const existing = await findTable(transaction, schema, name, true);
			const plan = planPostgres(input, manifest, existing);
			if (existing)
				await requireRights(transaction, existing, nameOf(schema, recordTable));
			if (!existing || plan.publish !== "Swap") return;
			const view = await PostgresView.find(
				transaction,
				schema,
				input,
				existing,
				true,
			);
			await requireReplaceable(transaction, existing.oid, name, view.oid);
		});
	}

	typesOf({
		name,
		options,
	}: LoadInput["table"]): Promise<TableTypes | undefined> {
		const { schema } = this.#input;
		return this.#inTransaction([name], async (transaction) => {
			const existing = await findTable(transaction, schema, name);
			return (
				existing && {
					existing: existing.columns,
					wanted: (columns) => wantedColumns(columns, options),
				}
			);
		});
	}

	unheld(table: LoadInput["table"], session: Session): UnheldValues[] {
		return unheldValues(table, session);
	}

	load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number | undefined> {
		return this.#with(async (database) => {
			const work = { input, manifest, days, files };
			const load = new PostgresLoad(database, this.#input, work, this.#context);
			const { name } = input.table;
			const loaded = await loadTable(load, name, this.#context.log);
			this.#ofView ??= loaded.words;
			return loaded.rows;
		});
	}

	rowAccess(input: Pick<LoadInput, "run">, manifest: Manifest): RowAccess {
		const { schema } = this.#input;
		return {
			dialect: {
				table: (name) => nameOf(schema, name),
				name: quoteName,
				text: literal,
				date: (date) => `DATE '${date}'`,
				// Bodies aren't found by Postgres' own functions: jsonb refuses some, and a statement fails at one of them.
				bodyDigest: (body) =>
					`encode(sha256(convert_to(${body}::text, 'UTF8')), 'hex')`,
			},
			tables: () =>
				this.#inTransaction([], async (transaction) => {
					const all = await commentedTables(transaction, schema);
					return all.filter(
						({ comment: { mark } }) =>
							ownerOf(mark, input, manifest) === "Ours",
					);
				}),
			requireAllSeen: ({ name }) =>
				this.#inTransaction([name], (transaction) =>
					requireErasable(transaction, nameOf(schema, name)),
				),
			count: (table, condition) =>
				this.#inTransaction([table], (transaction) =>
					countAll(transaction, nameOf(schema, table), condition),
				),
			change: async (table, statement) => {
				await this.#inTransaction([table], async (transaction) => {
					const found = await findTable(transaction, schema, table);
					if (found) await guardPartition(transaction, found.oid);
				});
				const change = (transaction: Transaction) =>
					changeRows(transaction, nameOf(schema, table), statement);
				return this.#inTransaction([table], change, "REPEATABLE READ");
			},
			detached: ({ name }) =>
				this.#inTransaction([name], (transaction) =>
					detachedPartitions(transaction, schema, name),
				),
			read: (query) => this.#read(query),
		};
	}

	async *#read(query: string) {
		const database = await this.#with(async (database) => database);
		const { schema } = this.#input;
		for await (const { rows } of database.read(schema, query))
			yield* rows as [string | null, string | null][];
	}

	/** Tries in a transaction that is rolled back what a Run does, so that it leaves nothing and nobody sees it. */
	check(): Promise<void> {
		const { schema } = this.#input;
		const name = nameOf(schema, `_tidemill_check_${randomUUID().slice(0, 8)}`);
		const day = name.replace(/"$/, '_day"');
		return this.#with(async (database) => {
			await database
				.transaction(async (transaction) => {
					const [found] = await transaction.rows(
						"SELECT 1 FROM pg_namespace WHERE nspname = $1",
						[schema],
					);
					if (!found)
						throw new PostgresFailure(
							"DatabaseMissing",
							`The database has no schema "${schema}"`,
						);
					const [{ encoding } = { encoding: "" }] = await transaction.rows<{
						encoding: string;
					}>("SELECT current_setting('server_encoding') AS encoding");
					if (encoding !== "UTF8")
						throw new PostgresFailure(
							"EncodingUnsupported",
							`The database's encoding is ${encoding}, which lacks characters that events have, and whose jsonb refuses their escapes`,
						);
					for (const sql of [
						`CREATE TABLE ${name} (date date) PARTITION BY RANGE (date)`,
						`CREATE TABLE ${day} (LIKE ${name})`,
						`INSERT INTO ${day} VALUES ('2026-01-01')`,
						`ALTER TABLE ${name} ATTACH PARTITION ${day} FOR VALUES FROM ('2026-01-01') TO ('2026-01-02')`,
						`COMMENT ON TABLE ${name} IS 'A check of Tidemill'`,
						`DELETE FROM ${day}`,
					])
						await transaction.run(sql);
					throw new RolledBack();
				})
				.catch((error) => {
					if (!(error instanceof RolledBack)) throw error;
				});
		});
	}

	async close(): Promise<void> {
		const database = await this.#database?.catch(() => undefined);
		await database?.close();
	}

	/** Who holds a lock of these tables that it waits for in vain is told. */
	#inTransaction<T>(
		tables: readonly string[],
		work: (transaction: Transaction) => Promise<T>,
		isolation?: string,
	): Promise<T> {
		const names = [...tables, recordTable].map((table) =>
			nameOf(this.#input.schema, table),
		);
		return this.#with((database) =>
			database
				.transaction(work, isolation)
				.catch((error) => tellHolders(error, database, names)),
		);
	}

	async #with<T>(work: (database: Database) => Promise<T>): Promise<T> {
		this.#database ??= Database.open(this.#input, this.#context);
		const database = await this.#database;
		this.#ofConnection = database.warning;
		return work(database);
	}
}

class RolledBack extends Error {}

export const open: WarehouseModule["open"] = (input, context) =>
	new PostgresWarehouse(input as PostgresInput, context);

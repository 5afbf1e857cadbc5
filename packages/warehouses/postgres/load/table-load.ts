import { randomUUID } from "node:crypto";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import { type LoadDay, rowsOf } from "../../load/load-day.ts";
import {
	progressOf,
	type TableLoad,
	type TableWork,
} from "../../load/load-table.ts";
import { useOfTable } from "../../load/table-plan.ts";
import { TableChanged, type WarehouseContext } from "../../load/warehouse.ts";
import type { PostgresInput } from "../input.ts";
import {
	bounds,
	createPartition,
	findTable,
	literal,
	nameOf,
	type Partition,
	type PostgresTable,
	partitionOf,
} from "./catalog.ts";
import { copyDay, tellLargest } from "./copy.ts";
import type { Database, Transaction } from "./database.ts";
import { PostgresView } from "./latest-view.ts";
import {
	guardPartition,
	requireRights,
	tellHolders,
} from "./partition-guards.ts";
import {
	definitions,
	isChanged,
	type PostgresPlan,
	partitionBy,
	planPostgres,
	postgresTables,
} from "./plan.ts";
import {
	prepareRecord,
	recordDay,
	recordTable,
	requireHeld,
	rowsOfTable,
	takeOver,
	tidyRecord,
} from "./record.ts";
import { replaceRows, vacuum, type WantedRows } from "./replaced-rows.ts";
import {
	lock,
	lockAlone,
	makeIndexes,
	requireReplaceable,
	takePlace,
} from "./swap.ts";
import { requireAdded } from "./touched-rows.ts";

/** A plan, with what was found for it. */
interface Planned extends PostgresPlan {
	existing: PostgresTable | undefined;
	view: PostgresView;
	words: string | undefined;
}

/** One load: a table, its schema, and the days to put into it. */
export class PostgresLoad implements TableLoad<Planned, Transaction> {
	readonly #work: TableWork;
	readonly #database: Database;
	readonly #schema: string;
	readonly #log: WarehouseContext["log"];
	readonly #dead: string[] = [];

	constructor(
		database: Database,
		{ schema }: Pick<PostgresInput, "schema">,
		work: TableWork,
		{ log }: Pick<WarehouseContext, "log">,
	) {
		this.#work = work;
		this.#database = database;
		this.#schema = schema;
		this.#log = log;
	}

	async plan(transaction: Transaction): Promise<Planned> {
		const { name } = this.#work.input.table;
		const existing = await findTable(transaction, this.#schema, name, true);
		const plan = planPostgres(this.#work.input, this.#work.manifest, existing);
		const changed = this.#work.days.filter(isChanged);
		const dates =
			plan.publish === "Days" ? changed.map(({ date }) => date) : [];
		if (existing)
			await requireRights(
				transaction,
				{ oid: existing.oid, dates },
				nameOf(this.#schema, recordTable),
			);
		const view = await PostgresView.find(
			transaction,
			this.#schema,
			this.#work.input,
			existing,
			plan.publish === "Swap",
		);
		return { ...plan, existing, view, words: view.words };
	}

	isAtOnce({ publish }: Planned): boolean {
		return publish === "Swap";
	}

	async publish(plan: Planned, transaction?: Transaction): Promise<void> {
		if (transaction) return this.#swap(plan, transaction);
		if (plan.record !== undefined)
			await this.#database
				.transaction((transaction) => prepareRecord(transaction, this.#schema))
				.catch((error) => this.#tellHolders(error));
		// Only now nobody has to wait for it who reads.
		await this.locked(async (transaction) => {
			await this.#requireOurs(transaction);
			await makeIndexes(transaction, this.#schema, this.#work.input.table);
		});
		await (plan.publish === "Whole"
			? this.#changeWhole()
			: this.#changeDays(plan));
	}

	async finish(plan: Planned, transaction?: Transaction): Promise<void> {
		const { name } = this.#work.input.table;
		const comment = this.#comment(name, plan.after);
		if (transaction) {
			await this.#commentColumns(plan, transaction);
			await transaction.run(comment);
			const placed = await findTable(transaction, this.#schema, name);
			await guardPartition(transaction, placed!.oid);
			return;
		}
		await this.locked(async (transaction) => {
			await this.#requireOurs(transaction);
			await transaction.run(comment);
			const [first] = this.#work.manifest.dates;
			if (first && plan.record !== undefined)
				await tidyRecord(transaction, this.#about(plan), first.date);
		});
		await vacuum(this.#database, this.#dead, this.#log);
	}

	/** Only of the whole window: only then somebody asks. */
	async count(): Promise<number | undefined> {
		const { name } = this.#work.input.table;
		if (this.#work.manifest.asked.extent !== "Whole") return undefined;
		return this.#database.transaction((transaction) =>
			rowsOfTable(transaction, this.#schema, name, this.#work.days),
		);
	}

	/**
	 * A transaction in which no other Job changes the table. One that was paused meanwhile then finds what its successor did. The
	 * lock is none that readers wait for.
	 */
	locked<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
		const { name } = this.#work.input.table;
		const table = nameOf(this.#schema, name);
		return this.#database
			.transaction(async (transaction) => {
				await lock(transaction, table);
				return work(transaction);
			})
			.catch((error) => this.#tellHolders(error));
	}

	#tellHolders(error: unknown): Promise<never> {
		const { name, latest } = this.#work.input.table;
		const names = [name, recordTable, ...(latest ? [latest.name] : [])];
		const relations = names.map((name) => nameOf(this.#schema, name));
		return tellHolders(error, this.#database, relations);
	}

	async prepare(plan: Planned, transaction: Transaction): Promise<void> {
		if (plan.publish === "Swap") return;
		const { view } = plan;
		const { name, columns, options } = this.#work.input.table;
		const table = nameOf(this.#schema, name);
		await view.lock();
		if (plan.creates)
			await transaction.run(
				`CREATE TABLE ${table} (${definitions(columns, options)})${partitionBy(columns)}`,
			);
		if (plan.added.length > 0) {
			await lockAlone(transaction, table);
			await transaction.run(
				`ALTER TABLE ${table} ${plan.added.map((column) => `ADD COLUMN ${definitions([column], options)}`).join(", ")}`,
			);
		}
		await this.#commentColumns(plan, transaction);
		await view.write(name);
		if (plan.former !== undefined)
			await takeOver(transaction, this.#about(plan), plan.former);
		await transaction.run(this.#comment(name, plan.during));
	}

	/** Changes the days one by one. */
	async #changeDays(plan: PostgresPlan): Promise<void> {
		const changed = this.#work.days.filter(isChanged);
		const say = (done: number) => {
			const rows = rowsOf(changed.slice(0, done));
			this.#log.info(progressOf(changed, rows), "loading days");
		};
		say(0);
		for (const [index, day] of changed.entries()) {
			await this.locked((transaction) => this.#prepareDay(day, transaction));
			await this.#withRows(day, (transaction, fill) =>
				this.#changeDay(plan, day, transaction, fill),
			);
			say(index + 1);
		}
	}

	/** Runs a day's transaction while its objects are on disk. */
	#withRows(
		day: LoadDay,
		work: (transaction: Transaction, fill: Fill) => Promise<void>,
	): Promise<void> {
		if (day.objects.length === 0)
			return this.locked((transaction) => work(transaction, async () => day));
		return this.#work.files.with([day], ([found], session) =>
			this.locked((transaction) =>
				work(transaction, async (relation) => {
					const { table } = this.#work.input;
					await copyDay(found!, session, table, relation, transaction);
					return found!;
				}),
			).catch((error) =>
				tellLargest(error, found!, session, this.#work.input.table),
			),
		);
	}

	/**
	 * Copies all days, each of which is on disk for a while only. Returns how many rows they have.
	 * @param into gives the relation for a day.
	 */
	async #copyAll(
		transaction: Transaction,
		into: (date: UtcDate) => Promise<string>,
	): Promise<number> {
		const { days, files, input } = this.#work;
		let [done, copied] = [0, 0];
		for (const day of days) {
			if (day.objects.length > 0)
				await files.with([day], async ([found], session) => {
					const relation = await into(day.date);
					await copyDay(
						found!,
						session,
						input.table,
						relation,
						transaction,
					).catch((error) => tellLargest(error, found!, session, input.table));
					copied += found!.rows;
				});
			done += day.rows;
			this.#log.info(progressOf(days, done), "loading days");
		}
		return copied;
	}

	/** A table without dates changes where it is, so that it keeps all that people have given to it. */
	#changeWhole(): Promise<void> {
		const { input, days } = this.#work;
		return this.locked(async (transaction) => {
			const { oid } = await this.#requireOurs(transaction);
			const name = nameOf(this.#schema, input.table.name);
			await this.#replace(
				transaction,
				{ oid, name, rowsOf: `ONLY ${name}` },
				true,
				days.some(({ objects }) => objects.length > 0)
					? (relation) => this.#copyAll(transaction, async () => relation)
					: undefined,
			);
		});
	}

	/**
	 * A new day gets an empty partition first, which no reader waits for, so that its rows are inserted into the table: a publication has
	 * them, and no lock of the table is held while they come.
	 */
	async #prepareDay(day: LoadDay, transaction: Transaction): Promise<void> {
		const { oid } = await this.#requireOurs(transaction);
		let partition = await partitionOf(transaction, oid, day.date);
		if (!partition && day.objects.length > 0)
			partition = await createPartition(
				transaction,
				this.#schema,
				this.#work.input.table.name,
				day.date,
			);
		if (partition) await guardPartition(transaction, oid, partition);
	}

	/**
	 * An existing day changes in its partition: a transaction that began before still sees the old rows, which it wouldn't if another
	 * table took the place.
	 */
	async #changeDay(
		plan: PostgresPlan,
		day: LoadDay,
		transaction: Transaction,
		fill: Fill,
	): Promise<void> {
		const { name } = this.#work.input.table;
		const { oid } = await this.#requireOurs(transaction);
		const partition = await partitionOf(transaction, oid, day.date);
		if (!partition && day.objects.length > 0) throw new TableChanged(name);
		let filled = day;
		const filling = async (relation: string) => {
			filled = await fill(relation);
			return filled.rows;
		};
		let xids: string[] = [];
		if (day.kept) {
			if (!plan.mayKeep) throw new TableChanged(name);
			const { manifest } = this.#work;
			await requireHeld(
				transaction,
				this.#about(plan),
				manifest,
				day,
				partition,
			);
			if (partition)
				await requireAdded(
					transaction,
					partition,
					await filling(partition.name),
				);
		} else if (partition)
			xids = await this.#replace(
				transaction,
				partition,
				plan.mayKeep,
				day.objects.length > 0 ? filling : undefined,
			);
		await recordDay(
			transaction,
			this.#about(plan),
			this.#work.manifest,
			filled,
			partition,
			xids,
		);
	}

	/** Returns the transactions that wrote the rows that stay. */
	async #replace(
		transaction: Transaction,
		relation: Partition,
		mayStay: boolean,
		fill: WantedRows["fill"],
	): Promise<string[]> {
		const { name, columns, options } = this.#work.input.table;
		const { died, xids, besideBytes } = await replaceRows(transaction, {
			...{ schema: this.#schema, table: name, columns, options },
			...{ relation, mayStay, fill },
		});
		if (besideBytes !== undefined)
			this.#log.info(
				{ table: relation.name, besideBytes },
				"compared the rows, which need this room beside the table until the transaction ends",
			);
		if (died) this.#dead.push(relation.name);
		return xids;
	}

	#about({ record }: PostgresPlan) {
		const { name } = this.#work.input.table;
		return { schema: this.#schema, table: name, record: record! };
	}

	/** A new table takes the place of the old one, in one transaction. Readers wait only for the last part of it. */
	async #swap(
		{ existing, view }: Planned,
		transaction: Transaction,
	): Promise<void> {
		const { name, columns, options } = this.#work.input.table;
		const staging = `_tidemill_${randomUUID().slice(0, 13)}`;
		const next = nameOf(this.#schema, staging);
		if (existing && existing.otherKind === undefined)
			await requireReplaceable(transaction, existing.oid, name, view.oid);
		await transaction.run(
			`CREATE TABLE ${next} (${definitions(columns, options)})${partitionBy(columns)}`,
		);
		const partitions: [staged: string, date: UtcDate][] = [];
		await this.#copyAll(transaction, async (date) => {
			if (partitionBy(columns) === "") return next;
			const part = `${staging}_${partitions.length}`;
			partitions.push([part, date]);
			const relation = nameOf(this.#schema, part);
			await transaction.run(
				`CREATE TABLE ${relation} PARTITION OF ${next} ${bounds(date)}`,
			);
			return relation;
		});
		const from = { schema: this.#schema, staging, partitions };
		await takePlace(transaction, this.#work.input.table, existing, view, from);
	}

	async #commentColumns(
		{ comments }: PostgresPlan,
		transaction: Transaction,
	): Promise<void> {
		const table = nameOf(this.#schema, this.#work.input.table.name);
		for (const { name, comment } of comments)
			await transaction.run(
				`COMMENT ON COLUMN ${table}.${quoteName(name)} IS ${literal(comment)}`,
			);
	}

	/** Throws {@link JobFailure} for a table that isn't this Pipeline's any more. */
	async #requireOurs(transaction: Transaction): Promise<{ oid: string }> {
		const { name } = this.#work.input.table;
		const existing = await findTable(transaction, this.#schema, name);
		if (!existing) throw new TableChanged(name);
		useOfTable(postgresTables, this.#work.input, this.#work.manifest, existing);
		return existing;
	}

	#comment(table: string, text: string): string {
		return `COMMENT ON TABLE ${nameOf(this.#schema, table)} IS ${literal(text)}`;
	}
}

type Fill = (relation: string) => Promise<LoadDay>;

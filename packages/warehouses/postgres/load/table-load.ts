import { createHash, randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { quoteName } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { largestValues } from "../../load/largest-values.ts";
import type { LoadDay } from "../../load/load-day.ts";
import { oldestRecorded } from "../../load/load-record.ts";
import { progressOf } from "../../load/progress.ts";
import {
	type DayFiles,
	TableChanged,
	type WarehouseContext,
} from "../../load/warehouse.ts";
import type { PostgresInput, PostgresTableOptions } from "../input.ts";
import {
	bounds,
	findTable,
	literal,
	nameOf,
	type Partition,
	partitionOf,
} from "./catalog.ts";
import { copyDay } from "./copy.ts";
import type { Database, Transaction } from "./database.ts";
import { isOfSize, PostgresFailure, SizeRefused } from "./failure.ts";
import { PostgresView } from "./latest-view.ts";
import {
	isChanged,
	type PostgresPlan,
	partitionBy,
	planPostgres,
	postgresUse,
} from "./plan.ts";
import {
	heldDate,
	prepareRecord,
	recordDay,
	recordedLoads,
	recordTable,
	tidyRecord,
} from "./record.ts";
import { definitions } from "./schema.ts";
import {
	belongingsOf,
	lockAlone,
	requireReplaceable,
	revokesOf,
} from "./swap.ts";

/** One load: a table, its schema, and the days to put into it. */
export class PostgresLoad {
	readonly #database: Database;
	readonly #schema: string;
	readonly #input: LoadInput;
	readonly #manifest: Manifest;
	readonly #files: DayFiles;
	readonly #log: WarehouseContext["log"];
	/** Once it is carried out: see {@link PostgresView.words}. */
	rewritten: string | undefined;

	constructor(
		database: Database,
		{ schema }: Pick<PostgresInput, "schema">,
		{
			input,
			manifest,
			files,
		}: { input: LoadInput; manifest: Manifest; files: DayFiles },
		{ log }: Pick<WarehouseContext, "log">,
	) {
		this.#database = database;
		this.#schema = schema;
		this.#input = input;
		this.#manifest = manifest;
		this.#files = files;
		this.#log = log;
	}

	async carryOut(days: LoadDay[]): Promise<void> {
		const plan = await this.#planned((transaction, plan, view) =>
			plan.publish === "Swap"
				? this.#swap(plan, days, transaction, view)
				: this.#prepare(plan, transaction, view),
		);
		if (plan.publish === "Swap") return;
		// Only now nobody has to wait for it who reads.
		await this.#locked(async (transaction) => {
			await this.#requireOurs(transaction);
			await this.#makeIndexes(transaction, this.#input.table.name);
		});
		const changed = await this.#changeDays(plan, days);
		const { name } = this.#input.table;
		await this.#locked(async (transaction) => {
			await this.#requireOurs(transaction);
			await transaction.run(this.#comment(name, plan.after));
			const [first] = this.#manifest.dates;
			if (first) await tidyRecord(transaction, this.#about(plan), first.date);
		});
		for (const partition of changed) await this.#vacuum(partition);
	}

	/** Plans and acts in one transaction, so that the plan rests on the table that it changes. */
	#planned(
		act: (
			transaction: Transaction,
			plan: PostgresPlan,
			view: PostgresView,
		) => Promise<void>,
	): Promise<PostgresPlan> {
		return this.#locked(async (transaction) => {
			const existing = await findTable(
				transaction,
				this.#schema,
				this.#input.table.name,
			);
			const plan = planPostgres(this.#input, this.#manifest, existing);
			const view = await PostgresView.find(
				transaction,
				this.#schema,
				this.#input,
				existing?.oid,
				plan.publish === "Swap",
			);
			await act(transaction, plan, view);
			this.rewritten = view.words;
			if (this.rewritten !== undefined)
				this.#log.warn({ table: this.#input.table.name }, this.rewritten);
			return plan;
		});
	}

	/**
	 * A transaction in which no other Job changes the table. One that was paused meanwhile then finds what its successor did. The
	 * lock is none that readers wait for.
	 */
	#locked<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
		const { name } = this.#input.table;
		return this.#database.transaction(async (transaction) => {
			await lock(transaction, nameOf(this.#schema, name));
			return work(transaction);
		});
	}

	async #prepare(
		plan: PostgresPlan,
		transaction: Transaction,
		view: PostgresView,
	): Promise<void> {
		const { name, columns, options } = this.#input.table;
		const table = nameOf(this.#schema, name);
		await view.lock();
		await lock(transaction, nameOf(this.#schema, recordTable));
		await prepareRecord(transaction, this.#schema);
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
		await view.write();
		await transaction.run(this.#comment(name, plan.during));
	}

	/** Changes the days one by one. Returns the partitions that have dead rows now. */
	async #changeDays(plan: PostgresPlan, days: LoadDay[]): Promise<string[]> {
		const dead: string[] = [];
		const changed = days.filter(isChanged);
		const say = (done: number) =>
			this.#log.info(
				progressOf(
					changed,
					changed.slice(0, done).reduce((sum, { rows }) => sum + rows, 0),
				),
				"loading days",
			);
		say(0);
		for (const [index, day] of changed.entries()) {
			await this.#withRows(day, (transaction, fill) =>
				this.#changeDay(plan, day, transaction, fill, dead),
			);
			say(index + 1);
		}
		return dead;
	}

	/** Runs a day's transaction while its objects are on disk. */
	#withRows(
		day: LoadDay,
		work: (transaction: Transaction, fill: Fill) => Promise<void>,
	): Promise<void> {
		if (day.objects.length === 0)
			return this.#locked((transaction) => work(transaction, async () => day));
		return this.#files.with([day], ([found], session) =>
			this.#locked((transaction) =>
				work(transaction, async (relation) => {
					await this.#copy(day, found!, session, relation, transaction);
					return { ...found!, unfit: this.#files.unfitOf(day) ?? {} };
				}),
			).catch((error) => this.#withLargest(error, found!, session)),
		);
	}

	/** @param found The day as its objects on disk have it. */
	async #copy(
		day: LoadDay,
		found: LoadDay,
		session: Session,
		relation: string,
		transaction: Transaction,
	): Promise<void> {
		const { table } = this.#input;
		this.#files.addUnfit(
			day,
			await copyDay(found, session, table, relation, transaction),
		);
	}

	/** A refusal for the size of a row or a value names those of the day that may be meant. */
	async #withLargest(
		error: unknown,
		found: LoadDay,
		session: Session,
	): Promise<never> {
		const cause = error instanceof PostgresFailure ? error.cause : error;
		if (!isOfSize(cause)) throw error;
		const { columns, options } = this.#input.table;
		const { indexes = [] }: PostgresTableOptions = options ?? {};
		const isOfIndex = /\bindex\b/i.test(cause.message);
		const among = isOfIndex ? indexes.flat() : undefined;
		const words = await largestValues([found], columns, session, among);
		throw error instanceof PostgresFailure
			? new PostgresFailure(error.code, `${error.what} ${words}`, { cause })
			: new SizeRefused(cause, words);
	}

	/**
	 * A new day is filled as a table of its own and attached, which no reader waits for. An existing one is deleted and filled in
	 * its partition: a transaction that began before still sees the old rows, which it wouldn't if another table took the place.
	 */
	async #changeDay(
		plan: PostgresPlan,
		day: LoadDay,
		transaction: Transaction,
		fill: Fill,
		dead: string[],
	): Promise<void> {
		const { name } = this.#input.table;
		const { oid } = await this.#requireOurs(transaction);
		let partition = await partitionOf(transaction, oid, day.date);
		if (day.kept) await this.#requireKept(plan, day, partition, transaction);
		else if (partition) {
			const deleted = await transaction.run(`DELETE FROM ${partition.name}`);
			if (deleted > 0) dead.push(partition.name);
		}
		let filled = day;
		if (partition) filled = await fill(partition.name);
		else if (day.objects.length > 0) {
			partition = await this.#createPartition(oid, name, day.date, transaction);
			filled = await fill(partition.name);
			await transaction.run(
				`ALTER TABLE ${nameOf(this.#schema, name)} ATTACH PARTITION ${partition.name} ${bounds(day.date)}`,
			);
		}
		await recordDay(
			transaction,
			this.#about(plan),
			this.#manifest,
			filled,
			partition,
		);
	}

	#about({ record }: PostgresPlan) {
		const { name } = this.#input.table;
		return { schema: this.#schema, table: name, record: record! };
	}

	/** Throws {@link TableChanged} if the rows that a day keeps aren't what they were. */
	async #requireKept(
		plan: PostgresPlan,
		{ date, kept }: LoadDay,
		partition: Partition | undefined,
		transaction: Transaction,
	): Promise<void> {
		const { name } = this.#input.table;
		if (!plan.mayKeep) throw new TableChanged(name);
		const loads = await recordedLoads(
			transaction,
			this.#schema,
			name,
			plan.record!,
			[date],
		);
		const held = await heldDate(
			transaction,
			partition,
			loads.get(date) ?? [],
			date < oldestRecorded(this.#manifest),
		);
		if (!isDeepStrictEqual(held, kept!.held)) throw new TableChanged(name);
	}

	async #createPartition(
		parent: string,
		table: string,
		date: UtcDate,
		transaction: Transaction,
	): Promise<Partition> {
		const name = await this.#freeName(partitionName(table, date), transaction);
		const full = nameOf(this.#schema, name);
		await transaction.run(
			`CREATE TABLE ${full} (LIKE ${nameOf(this.#schema, table)} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION)`,
		);
		const [found] = await transaction.rows<{ oid: string }>(
			"SELECT $1::text::regclass::oid::text AS oid",
			[full],
		);
		this.#log.debug({ parent, partition: name }, "creating a partition");
		return { oid: found!.oid, name: full };
	}

	/** The name itself, or with more if something has it. */
	async #freeName(name: string, transaction: Transaction): Promise<string> {
		const found = await transaction.rows(
			"SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
			[this.#schema, name],
		);
		return found.length === 0
			? name
			: fitting(name, `_${randomUUID().slice(0, 8)}`);
	}

	/** A new table takes the place of the old one, in one transaction. Readers wait only for the last part of it. */
	async #swap(
		plan: PostgresPlan,
		days: LoadDay[],
		transaction: Transaction,
		view: PostgresView,
	): Promise<void> {
		const { name, columns, options } = this.#input.table;
		const staging = `_tidemill_${randomUUID().slice(0, 13)}`;
		const [old, next] = [name, staging].map((one) => nameOf(this.#schema, one));
		const existing = await findTable(transaction, this.#schema, name);
		const isTable = existing !== undefined && existing.otherKind === undefined;
		if (isTable)
			await requireReplaceable(transaction, existing.oid, name, view.oid);
		await transaction.run(
			`CREATE TABLE ${next} (${definitions(columns, options)})${partitionBy(columns)}`,
		);
		const partitions: [staged: string, date: UtcDate][] = [];
		let done = 0;
		for (const day of days) {
			if (day.objects.length > 0)
				await this.#files.with([day], async ([found], session) => {
					let relation = next!;
					if (partitionBy(columns) !== "") {
						const part = `${staging}_${partitions.length}`;
						partitions.push([part, day.date]);
						relation = nameOf(this.#schema, part);
						await transaction.run(
							`CREATE TABLE ${relation} PARTITION OF ${next} ${bounds(day.date)}`,
						);
					}
					await this.#copy(day, found!, session, relation, transaction).catch(
						(error) => this.#withLargest(error, found!, session),
					);
				});
			done += day.rows;
			this.#log.info(progressOf(days, done), "loading days");
		}
		const belongings = async () =>
			isTable
				? belongingsOf(
						transaction,
						existing.oid,
						{ schema: this.#schema, table: name, staging },
						columns.map(({ name }) => name),
					)
				: { before: [], after: [] };
		// Before the lock, since an index takes as long as many rows do.
		if (isTable)
			for (const sql of await revokesOf(transaction, next!))
				await transaction.run(sql);
		const kept = await belongings();
		for (const sql of kept.before) await transaction.run(sql);
		await this.#makeIndexes(transaction, staging);
		await view.lock();
		if (isTable) {
			await lockAlone(transaction, old!);
			await requireReplaceable(transaction, existing.oid, name, view.oid);
			if (!isDeepStrictEqual(await belongings(), kept))
				throw new TableChanged(name, "got other rights, comments or indexes");
			// It reads the new table from now on.
			await view.write(staging);
			await transaction.run(`DROP TABLE ${old}`);
			await transaction.run(`ALTER TABLE ${next} RENAME TO ${quoteName(name)}`);
			for (const sql of kept.after) await transaction.run(sql);
		} else {
			if (existing)
				await transaction.run(
					`DROP ${existing.otherKind!.toUpperCase()} ${old}`,
				);
			await transaction.run(`ALTER TABLE ${next} RENAME TO ${quoteName(name)}`);
			await view.write();
		}
		for (const [part, date] of partitions) {
			const free = await this.#freeName(partitionName(name, date), transaction);
			await transaction.run(
				`ALTER TABLE ${nameOf(this.#schema, part)} RENAME TO ${quoteName(free)}`,
			);
		}
		await this.#commentColumns(plan, transaction);
		await transaction.run(this.#comment(name, plan.after));
	}

	async #commentColumns(
		{ comments }: PostgresPlan,
		transaction: Transaction,
	): Promise<void> {
		const table = nameOf(this.#schema, this.#input.table.name);
		for (const { name, comment } of comments)
			await transaction.run(
				`COMMENT ON COLUMN ${table}.${quoteName(name)} IS ${literal(comment)}`,
			);
	}

	/**
	 * Makes the indexes that the Pipeline names, unless the table has one on these columns. Not by the index's name: a table that was
	 * renamed keeps its indexes' names, which must be free in all of the schema.
	 * @param on Name that the table has now.
	 */
	async #makeIndexes(transaction: Transaction, on: string): Promise<void> {
		const { name: table, options } = this.#input.table;
		const { indexes = [] }: PostgresTableOptions = options ?? {};
		const relation = nameOf(this.#schema, on);
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
			const name = await this.#freeName(wanted, transaction);
			await transaction.run(
				`CREATE INDEX ${quoteName(name)} ON ${relation} (${columns.map(quoteName).join(", ")})`,
			);
		}
	}

	/** Throws {@link JobFailure} for a table that isn't this Pipeline's any more. */
	async #requireOurs(transaction: Transaction): Promise<{ oid: string }> {
		const { name } = this.#input.table;
		const existing = await findTable(transaction, this.#schema, name);
		if (!existing) throw new TableChanged(name);
		postgresUse(this.#input, this.#manifest, existing);
		return existing;
	}

	#comment(table: string, text: string): string {
		return `COMMENT ON TABLE ${nameOf(this.#schema, table)} IS ${literal(text)}`;
	}

	/**
	 * Takes the dead rows away, so that the next replacement uses their room. Without the end of the file, whose removal would cancel
	 * readers on a standby.
	 */
	async #vacuum(partition: string): Promise<void> {
		try {
			await this.#database.alone(
				`VACUUM (TRUNCATE false, SKIP_LOCKED) ${partition}`,
			);
		} catch (error) {
			this.#log.warn(
				{ partition, reason: (error as Error).message },
				"dead rows stay until Postgres' own vacuum",
			);
		}
	}
}

type Fill = (relation: string) => Promise<LoadDay>;

async function lock(transaction: Transaction, name: string): Promise<void> {
	await transaction.run(
		"SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
		[`tidemill ${name}`],
	);
}

function partitionName(table: string, date: UtcDate): string {
	return fitting(table, `_p${date.replaceAll("-", "")}`);
}

const maxBytes = 63;

/** A name with an end, cut before it to what Postgres takes. */
function fitting(name: string, end: string): string {
	return `${Buffer.from(name)
		.subarray(0, maxBytes - end.length)
		.toString()
		.replace(/\uFFFD+$/, "")}${end}`;
}

import { randomUUID } from "node:crypto";
import type { TableColumn } from "../../../contracts/job.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { JobFailure } from "../../load/failure.ts";
import { type LoadDay, rowsOf } from "../../load/load-day.ts";
import {
	progressOf,
	type TableLoad,
	type TableWork,
} from "../../load/load-table.ts";
import { oldestRecorded, useOfTable } from "../../load/table-plan.ts";
import { TableChanged, type WarehouseContext } from "../../load/warehouse.ts";
import {
	type ClickHouse,
	clickHouseHeld,
	countRows,
	dropStaging,
	findTable,
	requireAllSeen,
} from "./catalog.ts";
import type { Connection, ServerFacts } from "./connection.ts";
import { DayUploads } from "./day-uploads.ts";
import { type ViewStatements, viewStatements } from "./latest-view.ts";
import {
	type ClickHousePlan,
	clickHouseTables,
	planClickHouse,
} from "./plan.ts";
import {
	createRecord,
	type DateRows,
	entriesOf,
	noRows,
	recordColumns,
	recordLines,
	recordTable,
	rowsByDate,
	takeOver,
} from "./record.ts";
import {
	newStagingName,
	quoteName,
	quoteText,
	type Statements,
} from "./statements.ts";

interface Planned extends ClickHousePlan {
	view: ViewStatements;
	words: string | undefined;
	/** Of the table that is there. */
	ttl: string | undefined;
}

/**
 * Fills a staging table and publishes it. Until then readers see the old table, and then each day or the whole table changes
 * by one statement. Killed anywhere, it can be repeated: the staging table is the attempt's own.
 */
export class ClickHouseLoad implements TableLoad<Planned> {
	readonly #work: TableWork;
	readonly #server: ClickHouse;
	readonly #connection: Connection;
	readonly #sql: Statements;
	readonly #requireSuitable: () => Promise<ServerFacts>;
	readonly #log: WarehouseContext["log"];
	readonly #staging: string;
	readonly #uploads: DayUploads;
	/** Tables and views that nobody needs afterwards. */
	readonly #own: string[] = [];
	#staged: StagedDay[] = [];

	/** @param requireSuitable throws for a server that can't take the table. */
	constructor(
		server: ClickHouse,
		work: TableWork,
		requireSuitable: () => Promise<ServerFacts>,
		{ log }: Pick<WarehouseContext, "log">,
	) {
		this.#work = work;
		this.#server = server;
		this.#connection = server.connection;
		this.#sql = server.sql;
		this.#requireSuitable = requireSuitable;
		this.#log = log;
		this.#staging = newStagingName(work.input.table.name);
		this.#own.push(this.#staging);
		this.#uploads = new DayUploads(server, work, this.#staging);
	}

	async plan(): Promise<Planned> {
		const { input, manifest, days } = this.#work;
		const [existing, facts] = await Promise.all([
			findTable(this.#server, input.table.name),
			this.#requireSuitable(),
		]);
		if (existing?.engine.endsWith("MergeTree"))
			await requireAllSeen(this.#server, input.table.name);
		const held = days.some(({ kept }) => kept)
			? await clickHouseHeld(this.#server, existing, input, manifest)
			: undefined;
		const plan = planClickHouse(input, manifest, days, existing, held);
		const { publish } = plan;
		const view = await viewStatements(
			this.#server,
			facts,
			input,
			publish,
			existing,
		);
		const fed = fedWords(input.table.name, existing?.fedViews ?? []);
		const words = view.words ?? fed;
		return { ...plan, view, words, ttl: existing?.ttl };
	}

	async prepare(plan: Planned): Promise<void> {
		const { name } = this.#work.input.table;
		await Promise.all([
			dropStaging(this.#server, name),
			plan.record !== undefined &&
				this.#connection.run(createRecord(this.#sql)),
		]);
		if (plan.added.length > 0)
			await this.#connection.run(this.#sql.addColumns(name, plan.added));
		if (plan.comments.length > 0)
			await this.#connection.run(this.#sql.commentColumns(name, plan.comments));
		await this.#connection.run(
			plan.staging
				? this.#sql.create(this.#staging, plan.staging)
				: this.#sql.createLike(this.#staging, name),
		);
		if (likeTTL(plan) !== undefined)
			await this.#connection.run(this.#sql.removeTTL(this.#staging));
	}

	async stage(plan: Planned): Promise<void> {
		this.#staged = await this.#fill(this.#work.days, plan);
	}

	async publish(plan: Planned): Promise<void> {
		const { input, manifest } = this.#work;
		const now = await findTable(this.#server, input.table.name);
		// Somebody else may have marked it meanwhile.
		if (now) useOfTable(clickHouseTables, input, manifest, now);
		const { before } = plan.view;
		if (before !== undefined) await this.#connection.run(before);
		if (plan.publish === "Partitions") await this.#publishDays(plan);
		else await this.#publishTable(plan);
	}

	async finish({ publish, after, view }: Planned): Promise<void> {
		const { name } = this.#work.input.table;
		if (publish === "Partitions")
			await this.#connection.run(this.#sql.comment(name, after));
		// Of the columns that the table has now.
		if (view.after !== undefined) await this.#connection.run(view.after);
	}

	async clear(): Promise<void> {
		for (const name of this.#own) await this.#dropStaged(name);
	}

	count(): Promise<number> {
		return countRows(this.#server, this.#work.input.table.name);
	}

	/** What stays is dropped by the next Run, so that the first error is the one to report. */
	async #dropStaged(name: string): Promise<void> {
		await this.#connection
			.run(this.#sql.drop(name))
			.catch(({ message }) =>
				this.#log.warn({ reason: message }, "a staging table stays"),
			);
	}

	get #stagingView(): string {
		return `${this.#staging}-view`;
	}

	/** Fills the staging table. Returns what each day has, and will have. */
	async #fill(
		days: LoadDay[],
		{ publish, ttl }: Planned,
	): Promise<StagedDay[]> {
		const { table } = this.#work.input;
		let progress = progressOf(days, 0);
		const say = () => this.#log.info(progress, "loading days");
		say();
		const filled: LoadDay[] = [];
		for (const day of days) {
			const found = day.objects.length > 0 ? await this.#uploads.put(day) : day;
			filled.push(found);
			const { daysDone, rowsDone } = progress;
			progress = {
				...progress,
				daysDone: daysDone + 1,
				rowsDone: rowsDone + found.rows,
			};
			say();
		}
		const before =
			publish === "Partitions"
				? await this.#rows(table.name, days)
				: new Map<UtcDate, DateRows>();
		for (const { date, kept, rows } of filled)
			if (kept && rows > 0) await this.#addKept(date);
		const sync = this.#sql.sync(this.#staging);
		if (sync !== undefined) await this.#connection.run(sync);
		if (this.#work.input.strategy === "FullReload") {
			await this.#requireAll(filled);
			return [];
		}
		// A policy may be on all tables of the database.
		await requireAllSeen(this.#server, this.#staging);
		const after = await this.#rows(this.#staging, days);
		return filled.map((day) => {
			const { date, kept } = day;
			const was = before.get(date) ?? noRows;
			const will = kept && day.rows === 0 ? was : (after.get(date) ?? noRows);
			// Of the rows that it keeps, the table's TTL may have deleted some.
			const stay = ttl === undefined ? (kept?.rows ?? 0) : was.rows;
			this.#requireRows(will.rows, day.rows + (kept ? stay : 0), ` on ${date}`);
			return { day, before: was, after: will };
		});
	}

	async #requireAll(days: LoadDay[]): Promise<void> {
		const [all] = await this.#connection.rows<{ rows: string }>(
			`SELECT toString(count()) AS rows FROM ${this.#sql.of(this.#staging)}`,
		);
		this.#requireRows(Number(all!.rows), rowsOf(days), "");
	}

	#requireRows(found: number, expected: number, where: string): void {
		if (found !== expected)
			throw new JobFailure(
				"RowsDiffer",
				`Table ${this.#work.input.table.name} would have ${found} rows${where}, but ${expected} were expected`,
			);
	}

	/** Puts the rows that a day keeps beside the new ones. Throws {@link TableChanged} if some of these are there already. */
	async #addKept(date: UtcDate): Promise<void> {
		const { name, columns } = this.#work.input.table;
		const eventID = columns.find(({ from }) => from === "EventID")?.name;
		if (eventID !== undefined) {
			const id = quoteName(eventID);
			const found = await this.#connection.rows(
				`SELECT 1 FROM ${this.#sql.of(name)} WHERE date = ${quoteText(date)}` +
					` AND ${id} IN (SELECT ${id} FROM ${this.#sql.of(this.#staging)} WHERE date = ${quoteText(date)}) LIMIT 1`,
			);
			if (found.length > 0) throw new TableChanged(name);
		}
		await this.#connection.run(this.#sql.attachDay(date, this.#staging, name));
	}

	/** Of days that no record is about, the rows are counted and not read: their digest is that of none. */
	async #rows(table: string, days: LoadDay[]): Promise<Map<UtcDate, DateRows>> {
		const { columns } = this.#work.input.table;
		const oldest = oldestRecorded(this.#work.manifest);
		const dates = days.map(({ date }) => date);
		const of = (columns: readonly TableColumn[], dates: UtcDate[]) =>
			rowsByDate(this.#connection, this.#sql.of(table), columns, dates);
		const [recorded, counted] = await Promise.all([
			of(
				columns,
				dates.filter((date) => date >= oldest),
			),
			of(
				[],
				dates.filter((date) => date < oldest),
			),
		]);
		return new Map([...recorded, ...counted]);
	}

	/** Changes the days one by one, each by one statement. */
	async #publishDays(plan: Planned): Promise<void> {
		const { name } = this.#work.input.table;
		const changed = this.#staged.filter(({ day }) => !day.kept || day.rows > 0);
		const done = await this.#record(plan);
		await this.#connection.run(this.#sql.comment(name, plan.during));
		for (const { day, after } of changed)
			await this.#connection.run(
				after.rows > 0
					? this.#sql.replaceDay(day.date, name, this.#staging)
					: this.#sql.dropDay(day.date, name),
			);
		await done();
	}

	/** The staging table takes the table's place. It has the mark already, so that both change at once. */
	async #publishTable(plan: Planned): Promise<void> {
		const { name, columns } = this.#work.input.table;
		const view = plan.view.beside;
		const ttl = likeTTL(plan);
		if (ttl !== undefined)
			await this.#connection.run(this.#sql.modifyTTL(this.#staging, ttl));
		if (!plan.staging)
			await this.#connection.run(this.#sql.comment(this.#staging, plan.after));
		if (view) {
			this.#own.push(this.#stagingView);
			const next = { ...view, name: this.#stagingView };
			const how = { isThere: false, columns };
			await this.#connection.run(this.#sql.writeView(next, how));
		}
		const done = await this.#record(plan);
		await this.#connection.run(
			plan.publish === "Rename"
				? this.#sql.rename(this.#staging, name)
				: this.#sql.exchange(
						[name, this.#staging],
						...(view ? [[view.name, this.#stagingView] as const] : []),
					),
		);
		await done();
	}

	/** Says what is about to change. The result says that it has. */
	async #record({ record, former }: Planned): Promise<() => Promise<void>> {
		const { name } = this.#work.input.table;
		if (record !== undefined && former !== undefined)
			await this.#connection.run(takeOver(this.#sql, name, record, former));
		const entries = this.#staged
			.filter(({ day }) => day.date >= oldestRecorded(this.#work.manifest))
			.flatMap(({ day, before, after }) =>
				entriesOf(day, this.#work.manifest.run, before, after),
			);
		const last = entries.at(-1);
		if (record === undefined || !last) return async () => undefined;
		const about = {
			table_name: name,
			record,
			load: randomUUID(),
		};
		const write = (lines: typeof entries, done: boolean) =>
			this.#connection.run(
				this.#sql.insert(recordTable, recordColumns, "JSONEachRow"),
				recordLines(lines, { ...about, done }),
			);
		await write(entries, false);
		return () => write([{ ...last, objects: [] }], true);
	}
}

/** The TTL of a staging table that is like the table. */
function likeTTL({ staging, ttl }: Planned): string | undefined {
	return staging ? undefined : ttl;
}

/** Neither REPLACE PARTITION nor EXCHANGE is an insert (clickhouse.com/docs/sql-reference/statements/create/view#materialized-view). */
function fedWords(table: string, views: string[]): string | undefined {
	return views.length === 0
		? undefined
		: `Materialized view ${views.join(", ")} gets no row: it reads what is inserted into table ${table}, and Runs move partitions into it. Use a view, or a materialized view with REFRESH EVERY.`;
}

/** A day that is ready in the staging table, with what the table has of it. */
interface StagedDay {
	day: LoadDay;
	before: DateRows;
	after: DateRows;
}

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { passingParquet, widePassingParquet } from "../../../duckdb/memory.ts";
import {
	quoteName as quoteDuckDB,
	quoteText as quoteDuckDBText,
} from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { mapConcurrently } from "../../../fair/fair-limit.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import {
	areWide,
	columnSql,
	eventRows,
	limitWriters,
} from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import { type LoadDay, rowsOf } from "../../load/load-day.ts";
import { oldestRecorded } from "../../load/load-record.ts";
import { progressOf } from "../../load/progress.ts";
import {
	type DayFiles,
	TableChanged,
	type WarehouseContext,
} from "../../load/warehouse.ts";
import type { Connection } from "./connection.ts";
import { joinedParquet } from "./joined-parquet.ts";
import { ObjectUploads } from "./object-uploads.ts";
import type { ClickHousePlan } from "./plan.ts";
import {
	type DateRows,
	entriesOf,
	noRows,
	recordColumns,
	recordLines,
	recordTable,
	rowsByDate,
} from "./record.ts";
import { dateColumn } from "./schema.ts";
import {
	newStagingName,
	quoteName,
	quoteText,
	type Statements,
	type WrittenView,
} from "./statements.ts";

/**
 * Fills a staging table and publishes it. Until then readers see the old table, and then each day or the whole table changes
 * by one statement. Killed anywhere, it can be repeated: the staging table is the attempt's own.
 */
export class ClickHouseLoad {
	readonly #connection: Connection;
	readonly #sql: Statements;
	readonly #input: LoadInput;
	readonly #manifest: Manifest;
	readonly #files: DayFiles;
	readonly #log: WarehouseContext["log"];
	readonly #staging: string;

	constructor(
		connection: Connection,
		sql: Statements,
		{
			input,
			manifest,
			files,
		}: { input: LoadInput; manifest: Manifest; files: DayFiles },
		{ log }: Pick<WarehouseContext, "log">,
	) {
		this.#connection = connection;
		this.#sql = sql;
		this.#input = input;
		this.#manifest = manifest;
		this.#files = files;
		this.#log = log;
		this.#staging = newStagingName(input.table.name);
	}

	/**
	 * @param requireOurs throws if somebody else has marked the table meanwhile.
	 * @param view one that can be read only beside the new table, and takes its place together with that.
	 */
	async carryOut(
		plan: ClickHousePlan,
		days: LoadDay[],
		requireOurs: () => Promise<void>,
		view?: WrittenView,
	): Promise<void> {
		const { name } = this.#input.table;
		if (plan.added.length > 0)
			await this.#connection.run(this.#sql.addColumns(name, plan.added));
		if (plan.comments.length > 0)
			await this.#connection.run(this.#sql.commentColumns(name, plan.comments));
		await this.#connection.run(
			plan.staging
				? this.#sql.create(this.#staging, plan.staging)
				: this.#sql.createLike(this.#staging, name),
		);
		try {
			const staged = await this.#fill(days, plan.publish === "Partitions");
			await requireOurs();
			if (plan.publish === "Partitions") await this.#publishDays(plan, staged);
			else await this.#publishTable(plan, staged, view);
		} finally {
			await this.#dropStaged(this.#staging);
			if (view) await this.#dropStaged(this.#stagingView);
		}
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
	async #fill(days: LoadDay[], isPartOfTable: boolean): Promise<StagedDay[]> {
		const { table } = this.#input;
		let progress = progressOf(days, 0);
		const say = () => this.#log.info(progress, "loading days");
		say();
		const filled: LoadDay[] = [];
		for (const day of days) {
			const found = day.objects.length > 0 ? await this.#put(day) : day;
			filled.push(found);
			const { daysDone, rowsDone } = progress;
			progress = {
				...progress,
				daysDone: daysDone + 1,
				rowsDone: rowsDone + found.rows,
			};
			say();
		}
		const before = isPartOfTable
			? await this.#rows(table.name, days)
			: new Map<UtcDate, DateRows>();
		for (const { date, kept, rows } of filled)
			if (kept && rows > 0) await this.#addKept(date);
		const sync = this.#sql.sync(this.#staging);
		if (sync !== undefined) await this.#connection.run(sync);
		if (this.#input.strategy === "FullReload") {
			await this.#requireAll(filled);
			return [];
		}
		const after = await this.#rows(this.#staging, days);
		return filled.map((day) => {
			const { date, kept } = day;
			const was = before.get(date) ?? noRows;
			const will = kept && day.rows === 0 ? was : (after.get(date) ?? noRows);
			this.#requireRows(will.rows, day.rows + (kept?.rows ?? 0), ` on ${date}`);
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
				`Table ${this.#input.table.name} would have ${found} rows${where}, but ${expected} were expected`,
			);
	}

	/** Puts the rows that a day keeps beside the new ones. Throws {@link TableChanged} if some of these are there already. */
	async #addKept(date: UtcDate): Promise<void> {
		const { name, columns } = this.#input.table;
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
		const { columns } = this.#input.table;
		const oldest = oldestRecorded(this.#manifest);
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
	async #publishDays(plan: ClickHousePlan, staged: StagedDay[]): Promise<void> {
		const { name } = this.#input.table;
		const changed = staged.filter(({ day }) => !day.kept || day.rows > 0);
		const done = await this.#record(plan, staged);
		await this.#connection.run(this.#sql.comment(name, plan.during));
		for (const { day, after } of changed)
			await this.#connection.run(
				after.rows > 0
					? this.#sql.replaceDay(day.date, name, this.#staging)
					: this.#sql.dropDay(day.date, name),
			);
		await done();
		await this.#connection.run(this.#sql.comment(name, plan.after));
	}

	/** The staging table takes the table's place. It has the mark already, so that both change at once. */
	async #publishTable(
		plan: ClickHousePlan,
		staged: StagedDay[],
		view: WrittenView | undefined,
	): Promise<void> {
		const { name, columns } = this.#input.table;
		if (!plan.staging)
			await this.#connection.run(this.#sql.comment(this.#staging, plan.after));
		if (view) {
			const next = { ...view, name: this.#stagingView };
			const how = { isThere: false, columns };
			await this.#connection.run(this.#sql.writeView(next, how));
		}
		const done = await this.#record(plan, staged);
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
	async #record(
		{ record }: ClickHousePlan,
		staged: StagedDay[],
	): Promise<() => Promise<void>> {
		const entries = staged
			.filter(({ day }) => day.date >= oldestRecorded(this.#manifest))
			.flatMap(({ day, before, after }) =>
				entriesOf(day, this.#manifest.run, before, after),
			);
		const last = entries.at(-1);
		if (record === undefined || !last) return async () => undefined;
		const about = {
			table_name: this.#input.table.name,
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

	/** Puts a day's rows into the staging table. Returns the day as its objects on disk have it. */
	async #put(day: LoadDay): Promise<LoadDay> {
		const { columns } = this.#input.table;
		const isOfObjects = areOfObjects(columns);
		const bytes = day.objects.reduce((sum, { bytes }) => sum + bytes, 0);
		// Any other day comes by one INSERT, as each makes a part that the server must merge.
		const isLarge = bytes > maxUploadBytes;
		const newUploads = () =>
			new ObjectUploads((upload) => this.#upload(joinedParquet(upload)), {
				maxBytes: maxUploadBytes,
				firstBytes: isLarge ? maxUploadBytes / 8 : maxUploadBytes,
				atOnce: this.#sql.insertsAtOnce,
			});
		const uploads = newUploads();
		const { released = [], without = [] } = day;
		// Rows that were sent too early are dropped with their partition.
		const mayBeEarly =
			isOfObjects &&
			dateColumn(columns) !== undefined &&
			released.length + without.length === 0;
		const use = async ([found]: LoadDay[], session: Session) => {
			const { objects } = found!;
			let rows = isOfObjects ? await uploads.finish(objects) : undefined;
			if (rows === undefined && uploads.hasSentEarly) {
				await this.#connection.run(this.#sql.dropDay(day.date, this.#staging));
				rows = await newUploads().finish(objects);
			}
			if (rows === undefined) await this.#write(found!, session);
			else requireRowsOf(found!, rows);
			return found!;
		};
		try {
			return await this.#files.with(
				[day],
				use,
				mayBeEarly ? (object) => uploads.add(object) : undefined,
			);
		} finally {
			await uploads.end();
		}
	}

	/** Sends a day's rows in files that are written anew. */
	async #write(day: LoadDay, session: Session): Promise<void> {
		const { columns } = this.#input.table;
		const directory = join(this.#files.directory, `${day.date}-written`);
		try {
			const files = await writeUploads(day, columns, directory, session);
			await mapConcurrently(files, this.#sql.insertsAtOnce, (file) =>
				this.#upload(createReadStream(file)),
			);
		} finally {
			await rm(directory, { recursive: true, force: true });
		}
	}

	#upload(parquet: Readable): Promise<void> {
		const { columns } = this.#input.table;
		const sql = this.#sql.insert(this.#staging, columns, "Parquet");
		return this.#connection.run(sql, parquet);
	}
}

/** A day that is ready in the staging table, with what the table has of it. */
interface StagedDay {
	day: LoadDay;
	before: DateRows;
	after: DateRows;
}

/**
 * Writes the Parquet files that ClickHouse loads, from a day's objects on disk and with only the table's columns: a next one as soon as one
 * has {@link maxUploadBytes}. Returns their paths.
 * Throws {@link JobFailure} ObjectMismatch if they have other rows than planned.
 */
async function writeUploads(
	{ date, rows, objects }: LoadDay,
	columns: readonly TableColumn[],
	directory: string,
	session: Session,
): Promise<string[]> {
	// Such as a day in quarantine of which every event was released.
	if (objects.length === 0 && rows === 0) return [];
	const selected = columns.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		// As text, which the server parses.
		const stored = type === "JSON" ? "VARCHAR" : type;
		return `(${expression})::${stored} AS ${quoteDuckDB(name)}`;
	});
	await limitWriters(session, objects, columns);
	defineBodyValues(session);
	await mkdir(directory);
	const written = await session.run(
		`COPY (SELECT ${selected.join(", ")} FROM ${eventRows(objects, columns)})` +
			` TO ${quoteDuckDBText(directory)} (${areWide(columns) ? widePassingParquet : passingParquet}, FILE_SIZE_BYTES ${maxUploadBytes})`,
	);
	requireRowsOf({ date, rows }, written);
	return (await readdir(directory)).map((file) => join(directory, file));
}

function requireRowsOf(
	{ date, rows }: Pick<LoadDay, "date" | "rows">,
	found: number,
): void {
	if (found !== rows)
		throw new JobFailure(
			"ObjectMismatch",
			`The objects of ${date} gave ${found} rows, but the manifest says ${rows}`,
		);
}

/** Of compressed Parquet, which a server holds in memory. The rows are then about what ClickHouse puts into one part by itself (min_insert_block_size_bytes, 256 MiB). */
const maxUploadBytes = 64 * 1024 ** 2;

const objectColumns: Partial<Record<string, string>> = {
	EventID: "event_id",
	Timestamp: "timestamp",
	Body: "body",
	Date: "date",
};

/** Whether the objects in the bucket have these columns by the same names, so that ClickHouse takes them as they are. */
function areOfObjects(columns: readonly TableColumn[]): boolean {
	return columns.every(
		({ name, from }) =>
			typeof from === "string" && objectColumns[from] === name,
	);
}

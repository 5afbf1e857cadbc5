import { createReadStream, linkSync } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { LoadInput, TableColumn } from "../../../contracts/job.ts";
import { passingParquet, widePassingParquet } from "../../../duckdb/memory.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import { FairLimit, mapConcurrently } from "../../../fair/fair-limit.ts";
import { defineBodyValues } from "../../load/body-values.ts";
import {
	areWide,
	columnSql,
	eventRows,
	limitWriters,
} from "../../load/columns.ts";
import { JobFailure } from "../../load/failure.ts";
import {
	broughtBy,
	type DayObject,
	type LoadDay,
} from "../../load/load-day.ts";
import type { TableWork } from "../../load/load-table.ts";
import type { DayFiles } from "../../load/warehouse.ts";
import type { ClickHouse } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import {
	joinedParquet,
	type ParquetUpload,
	parquetUploads,
} from "./joined-parquet.ts";
import { dateColumn, type Statements } from "./statements.ts";

/** Puts days' rows into a staging table: objects as they are where ClickHouse can take them, or files that are written anew. */
export class DayUploads {
	readonly #connection: Connection;
	readonly #sql: Statements;
	readonly #input: LoadInput;
	readonly #files: DayFiles;
	readonly #staging: string;

	constructor(
		{ connection, sql }: ClickHouse,
		{ input, files }: Pick<TableWork, "input" | "files">,
		staging: string,
	) {
		this.#connection = connection;
		this.#sql = sql;
		this.#input = input;
		this.#files = files;
		this.#staging = staging;
	}

	/** Puts a day's rows into the staging table. Returns the day as its objects on disk have it. */
	async put(day: LoadDay): Promise<LoadDay> {
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
		// Rows that were sent too early are dropped with their partition.
		const mayBeEarly =
			isOfObjects &&
			dateColumn(columns) !== undefined &&
			broughtBy(day).length === 0;
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
	const selected = columns.map((column) => {
		const { name, type, expression } = columnSql(column, columns);
		// As text, which the server parses.
		const stored = type === "JSON" ? "VARCHAR" : type;
		return `(${expression})::${stored} AS ${quoteName(name)}`;
	});
	await limitWriters(session, objects, columns);
	defineBodyValues(session);
	await mkdir(directory);
	const written = await session.run(
		`COPY (SELECT ${selected.join(", ")} FROM ${eventRows(objects, columns)})` +
			` TO ${quoteText(directory)} (${areWide(columns) ? widePassingParquet : passingParquet}, FILE_SIZE_BYTES ${maxUploadBytes})`,
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

/**
 * Sends a day's objects as they are, the first ones while others are on their way or are checked: a server takes longer to store them than
 * all the rest of a Run does. Nobody may read their rows before all objects are checked.
 */
export class ObjectUploads {
	readonly #send: (upload: ParquetUpload) => Promise<void>;
	readonly #maxBytes: number;
	readonly #firstBytes: number;
	readonly #limit: FairLimit;
	/** Not enough for an upload yet. */
	#waiting: DayObject[] = [];
	readonly #early: DayObject[] = [];
	readonly #sending: Promise<void>[] = [];
	#rows = 0;
	#canBeSent = true;
	#isOver = false;

	/**
	 * @param maxBytes of an upload. A day with less is sent once it is checked.
	 * @param firstBytes with which the first upload begins, as the server has nothing to do before it.
	 */
	constructor(
		send: (upload: ParquetUpload) => Promise<void>,
		{
			maxBytes,
			firstBytes = maxBytes,
			atOnce,
		}: { maxBytes: number; firstBytes?: number; atOnce: number },
	) {
		this.#send = send;
		this.#maxBytes = maxBytes;
		this.#firstBytes = firstBytes;
		this.#limit = new FairLimit({ atOnce });
	}

	/** Whether rows may be in the table that nobody has checked. */
	get hasSentEarly(): boolean {
		return this.#early.length > 0;
	}

	/** Takes an object that has just arrived. */
	add(object: DayObject): void {
		try {
			// A check may put another file in the object's place.
			linkSync(object.file, sentFile(object));
		} catch {
			// Not every file system has links. The object is sent once it is checked.
			return;
		}
		if (bytesOf([...this.#waiting, object]) > this.#maxBytes)
			this.#sendWaiting();
		this.#waiting.push(object);
		if (!this.hasSentEarly && bytesOf(this.#waiting) > this.#firstBytes)
			this.#sendWaiting();
	}

	#sendWaiting(): void {
		const waiting = this.#waiting;
		this.#waiting = [];
		this.#early.push(...waiting);
		this.#begin(waiting.map((early) => ({ file: sentFile(early) })));
	}

	/**
	 * Sends the rest of the objects, which are checked now. Throws what sending throws.
	 * @returns how many rows were sent; undefined if they must be sent in another way, or others were sent than these.
	 */
	async finish(objects: readonly DayObject[]): Promise<number | undefined> {
		const rest = new Map(objects.map((object) => [object.key, object]));
		let areSame = true;
		for (const early of this.#early) {
			const now = rest.get(early.key);
			areSame &&= now !== undefined && (await isSame(early, now));
			rest.delete(early.key);
		}
		if (areSame) this.#begin([...rest.values()]);
		await Promise.all(this.#sending);
		return areSame && this.#canBeSent ? this.#rows : undefined;
	}

	/** Waits for what is under way, whatever comes of it, and sends no more. */
	async end(): Promise<void> {
		this.#isOver = true;
		await Promise.allSettled(this.#sending);
		for (const object of [...this.#early, ...this.#waiting])
			await rm(sentFile(object), { force: true });
	}

	#begin(files: readonly { file: string }[]): void {
		const sending = this.#sendAll(files);
		// Who finishes has the failure.
		sending.catch(() => undefined);
		this.#sending.push(sending);
	}

	async #sendAll(files: readonly { file: string }[]): Promise<void> {
		const uploads = await parquetUploads(files, this.#maxBytes);
		if (!uploads) this.#canBeSent = false;
		const send = async (upload: ParquetUpload) => {
			if (this.#isOver || !this.#canBeSent) return;
			await this.#send(upload);
			this.#rows += upload.rows;
		};
		await Promise.all(
			(uploads ?? []).map((upload) => this.#limit.run("", () => send(upload))),
		);
	}
}

function bytesOf(objects: readonly DayObject[]): number {
	return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

function sentFile({ file }: DayObject): string {
	return `${file}.sent`;
}

async function isSame(early: DayObject, checked: DayObject): Promise<boolean> {
	const [one, other] = await Promise.all([
		stat(sentFile(early)),
		stat(checked.file),
	]);
	return one.ino === other.ino && early.rows === checked.rows;
}

import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
	type EventTypeTables,
	type LoadInput,
	maxEventTypeBytes,
} from "../../packages/contracts/job.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { passingParquet } from "../../packages/duckdb/memory.ts";
import { parquetRows, quoteText } from "../../packages/duckdb/quoting.ts";
import type { Session } from "../../packages/duckdb/session.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import {
	addUnfit,
	type DayObject,
	type HeldDate,
	type LoadDay,
	type UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import {
	countUnfit,
	type UnheldValues,
} from "../../packages/warehouses/load/value-counts.ts";
import type { DayFiles } from "../../packages/warehouses/load/warehouse.ts";
import { filesOf } from "../job/download.ts";
import { defineTypes, typeOfEvent } from "./steps/filtered.ts";
import { sentType } from "./steps/omitted.ts";

/** A day's rows of one table. */
interface Part {
	file: string;
	rows: number;
	bodyBytes: number;
	unfit: UnfitRows;
}

/** DuckDB keeps a writer for each file that it writes at once, with memory of its own. */
const mostWriters = 10;
/** Of the rows that such writers hold together. */
const heldBytes = 8 * 1024 * 1024;
/** Of types that a day's rows are counted by. */
const mostTypes = 10_000;
/** As JSON, of the types that a result names: it has {@link file://../../packages/contracts/job.ts maxResultBytes}. */
const maxNamedBytes = 1_500;

/** The days of a load by table, in files on the scratch volume. Tables go by number: 0 is that of other types. */
export class SplitDays implements DayFiles {
	readonly #table: LoadInput["table"];
	readonly #types: EventTypeTables;
	readonly #files: DayFiles;
	readonly #unheld: (session: Session) => UnheldValues[];
	readonly #days: { day: LoadDay; parts: Map<number, Part>; none: string }[] =
		[];
	/** Rows of each type without a table. */
	readonly #others = new Map<string, number>();

	constructor(
		table: LoadInput["table"],
		types: EventTypeTables,
		files: DayFiles,
		unheld: (session: Session) => UnheldValues[],
	) {
		this.#table = table;
		this.#types = types;
		this.#files = files;
		this.#unheld = unheld;
	}

	get directory(): string {
		return this.#files.directory;
	}

	async add(day: LoadDay, isOnDisk: boolean): Promise<void> {
		const none = join(this.directory, `${day.date}-of-no-type.parquet`);
		const split = async (found: LoadDay, session: Session) => {
			const parts = await this.#split(found, none, session);
			this.#days.push({ day, parts, none });
		};
		if (day.objects.length === 0)
			this.#days.push({ day, parts: new Map(), none });
		else if (isOnDisk) {
			await this.#files.with([], (_, session) => split(day, session));
			for (const { file } of filesOf(day)) await rm(file, { force: true });
		} else
			await this.#files.with([day], ([found], session) =>
				split(found!, session),
			);
	}

	/**
	 * Throws {@link JobFailure} EventTypesFound if some of the types may get a table: those with most rows first.
	 * @param free How many may.
	 */
	otherTypes(free: number): { rows: number; types: number } | undefined {
		const types = [...this.#others];
		const found = namedTypes(this.#others, free);
		if (found.length > 0) {
			const named = found.map((type) => JSON.stringify(type)).join(", ");
			const failure = new JobFailure(
				"EventTypesFound",
				`There are events of types without a table: ${named}`,
			);
			failure.eventTypes = found;
			throw failure;
		}
		return types.length === 0
			? undefined
			: {
					rows: types.reduce((sum, [, rows]) => sum + rows, 0),
					types: types.length,
				};
	}

	/**
	 * The days of a table.
	 * @param held What it held when the load began.
	 */
	daysOf(
		table: number,
		held: ReadonlyMap<UtcDate, HeldDate> | undefined,
	): LoadDay[] {
		return this.#days.map(({ day, parts, none }) => {
			const { kept, ...rest } = day;
			const part = parts.get(table);
			const { rows = 0, unfit = {} } = part ?? {};
			const before = held?.get(day.date);
			return {
				...rest,
				rows,
				unfit,
				objects: day.objects.map(
					(object, index): DayObject =>
						index === 0 && part
							? { ...object, ...part }
							: { ...object, file: none, rows: 0, bodyBytes: 0 },
				),
				...(kept &&
					before && {
						kept: {
							...kept,
							rows: before.rows,
							unfit: addUnfit(before.loads.map((load) => load.unfit)),
							held: before,
						},
					}),
			};
		});
	}

	/** Deletes the files of a table. */
	async remove(table: number): Promise<void> {
		for (const { parts } of this.#days) {
			const part = parts.get(table);
			if (part) await rm(part.file, { force: true });
			parts.delete(table);
		}
	}

	with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
	): Promise<T> {
		return this.#files.with([], (_, session) => use(days, session));
	}

	/** In two steps, since DuckDB can't write to all files at once. */
	async #split(
		day: LoadDay,
		none: string,
		session: Session,
	): Promise<Map<number, Part>> {
		const { objects, date } = day;
		const { columns } = this.#table;
		const folder = join(this.directory, `${date}-types`);
		const write = (rows: string, file: string, by: string) =>
			session.run(
				`COPY (${rows}) TO ${quoteText(file)} (${passingParquet}${by})`,
			);
		const all = parquetRows(objects.map(({ file }) => file));
		await write(`SELECT * FROM ${all} LIMIT 0`, none, "");
		const parts = new Map<number, Part>();
		if (day.rows === 0) return parts;
		defineTypes(session);
		const bytes = objects.reduce(
			(sum, { bodyBytes = 0 }) => sum + bodyBytes,
			0,
		);
		const rowBytes = 200 + Math.ceil(bytes / day.rows);
		await session.run(
			`SET partitioned_write_flush_threshold = ${Math.ceil(heldBytes / rowBytes)}`,
		);
		const steps = [join(folder, "some"), join(folder, "one")] as const;
		await rm(folder, { recursive: true, force: true });
		for (const step of steps) await mkdir(step, { recursive: true });
		const list = this.#types.tables.map(({ type }) => quoteText(type)).join();
		const part = `coalesce(list_position([${list}]::VARCHAR[], ${this.#typeSql}), 0)`;
		const numbered = `SELECT *, ${part} AS part FROM ${all}`;
		await write(
			`SELECT *, part // ${mostWriters} AS tenth FROM (${numbered})`,
			steps[0],
			", PARTITION_BY (tenth), OVERWRITE_OR_IGNORE",
		);
		for (const some of await readdir(steps[0])) {
			const from = join(steps[0], some);
			await write(
				`SELECT * FROM read_parquet(${quoteText(join(from, "*.parquet"))}, hive_partitioning = false)`,
				steps[1],
				", PARTITION_BY (part), OVERWRITE_OR_IGNORE",
			);
			await rm(from, { recursive: true });
		}
		for (const found of await readdir(steps[1])) {
			const number = Number(found.slice("part=".length));
			const file = join(this.directory, `${date}-of-type-${number}.parquet`);
			const names = await readdir(join(steps[1], found));
			if (names.length === 1)
				await rename(join(steps[1], found, names[0]!), file);
			else
				await write(
					`SELECT * FROM read_parquet(${quoteText(join(steps[1], found, "*.parquet"))}, hive_partitioning = false)`,
					file,
					"",
				);
			const rows = parquetRows([file]);
			const [size] = await session.rows<{ rows: bigint; bytes: bigint }>(
				`SELECT count(*) AS rows, coalesce(sum(strlen(body)), 0)::BIGINT AS bytes FROM ${rows}`,
			);
			const made = {
				file,
				rows: Number(size!.rows),
				bodyBytes: Number(size!.bytes),
			};
			const isUnfit = Object.keys(day.unfit ?? {}).length > 0;
			const unheld = this.#unheld(session);
			parts.set(number, {
				...made,
				unfit: isUnfit
					? await countUnfit(columns, unheld, [made], session)
					: {},
			});
			if (number === 0) await this.#countOthers(rows, session);
		}
		await rm(folder, { recursive: true });
		return parts;
	}

	async #countOthers(rows: string, session: Session): Promise<void> {
		const found = await session.rows<{ type: string; rows: bigint }>(
			`SELECT left(${this.#typeSql}, ${maxEventTypeBytes + 1}) AS type, count(*) AS rows FROM ${rows} GROUP BY ALL` +
				` HAVING type <> '' ORDER BY rows DESC, type LIMIT ${mostTypes}`,
		);
		for (const { type, rows } of found)
			if (this.#others.has(type) || this.#others.size < mostTypes)
				this.#others.set(type, (this.#others.get(type) ?? 0) + Number(rows));
	}

	/** What a plan has left out of the body may have been its type. */
	get #typeSql(): string {
		const { place } = this.#types;
		return `coalesce(nullif(${typeOfEvent({ header: sentType })}, ''), ${typeOfEvent(place)})`;
	}
}

/**
 * The types that a result names: those with most rows first, and as many as have room in it.
 * @param rows Of each type.
 * @param free How many may get a table.
 */
export function namedTypes(
	rows: ReadonlyMap<string, number>,
	free: number,
): string[] {
	const types = [...rows].sort(
		([one, rows], [other, more]) => more - rows || (one < other ? -1 : 1),
	);
	const found: string[] = [];
	for (const [type] of types.filter(([type]) => mayHaveTable(type))) {
		if (found.length === free) break;
		const all = JSON.stringify([...found, type]);
		if (Buffer.byteLength(all) > maxNamedBytes) break;
		found.push(type);
	}
	return found;
}

/** Who reads the Pipeline's status must be able to read the type. */
function mayHaveTable(type: string): boolean {
	return Buffer.byteLength(type) <= maxEventTypeBytes && !/\p{Cc}/u.test(type);
}

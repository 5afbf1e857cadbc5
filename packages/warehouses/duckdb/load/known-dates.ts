import { createHash } from "node:crypto";
import { open, rename, rm, stat, writeFile } from "node:fs/promises";
import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import { quoteName, quoteText } from "../../../duckdb/quoting.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { Logger } from "../../../service/log.ts";
import type { HeldDate } from "../../load/load-day.ts";
import { heldDates, takenOver } from "../../load/table-plan.ts";
import {
	datesSql,
	digestSql,
	digestTable,
	recordedLoads,
	recordTable,
} from "./load-record.ts";
import { type DuckDBTable, duckDBTables } from "./plan.ts";

/** Room for the dates of a year in two hundred tables. A longer note isn't read. */
const maxNoteBytes = 1024 * 1024;

/** Of a year, and of the manifest's dates all. The rows of earlier dates are read again. */
export function firstNoted({ dates, snapshotTime }: Manifest): UtcDate {
	const first = addDays(utcDate(Date.parse(snapshotTime)), -366);
	return [first, dates[0]?.date ?? first].sort()[0]!;
}

interface Note {
	/** Changes with each write of the file. */
	state: string;
	/** By the name of a table in lower case. */
	tables: Record<string, UtcDate[]>;
}

/**
 * The dates of tables that hold what the record's digests say, by a note beside the DuckDB file: since a Run saw it, only Runs
 * have written the file. Such a date needs no reading of its rows. Without a note, with a torn or an old one, and after a
 * write of somebody else, no date is known, and a Run reads its rows. See docs/decisions/0025-a-scheduled-run-adds-what-is-new.md.
 */
export class KnownDates {
	/** @param file That this process has opened for writing, so nobody else changes it meanwhile. */
	static async read(file: string): Promise<KnownDates> {
		const note = await readNote(noteOf(file)).catch(() => undefined);
		const isCurrent =
			note !== undefined &&
			note.state === (await stateOf(file).catch(() => undefined)) &&
			!(await hasLog(file));
		return new KnownDates(file, isCurrent ? note : undefined);
	}

	readonly #file: string;
	readonly #tables: Map<string, Set<UtcDate>>;
	readonly #noted: string;

	private constructor(file: string, note: Note | undefined) {
		this.#file = file;
		this.#noted = JSON.stringify(note);
		this.#tables = new Map(
			Object.entries(note?.tables ?? {}).map(([table, dates]) => [
				table,
				new Set(dates),
			]),
		);
	}

	has(table: string, date: UtcDate): boolean {
		return this.#tables.get(table.toLowerCase())?.has(date) ?? false;
	}

	/** @param before Older dates are left out of the note: see {@link firstNoted}. */
	add(table: string, dates: Iterable<UtcDate>, before: UtcDate): void {
		const name = table.toLowerCase();
		const all = [...(this.#tables.get(name) ?? []), ...dates];
		this.#tables.set(name, new Set(all.filter((date) => date >= before)));
	}

	/** Before rows change that no digest counts. */
	forget(table: string): void {
		this.#tables.delete(table.toLowerCase());
	}

	/** Writes the note, or removes it if no date is known. Call it as the last thing before the file is closed. A failure only costs the next Run a reading. */
	async write(session: Session, log: Logger): Promise<void> {
		const path = noteOf(this.#file);
		const draft = `${path}-${process.pid}`;
		try {
			if (this.#tables.size === 0) return await rm(path, { force: true });
			// Else closing the file would write it once more.
			if (await hasLog(this.#file)) await session.run("CHECKPOINT");
			const note: Note = {
				state: await stateOf(this.#file),
				tables: Object.fromEntries(
					this.#tables.entries().map(([table, dates]) => [table, [...dates]]),
				),
			};
			const text = JSON.stringify(note);
			if (text === this.#noted) return;
			await writeFile(draft, text);
			await rename(draft, path);
		} catch (error) {
			await rm(draft, { force: true }).catch(() => undefined);
			log.warn(
				{ reason: (error as Error).message },
				"the note beside the DuckDB file wasn't written, so the next Run reads its dates whole",
			);
		}
	}
}

/** No Destination's path may have this character. */
function noteOf(file: string): string {
	return `${file}~tidemill`;
}

/** Changes that aren't in the file yet. */
async function hasLog(file: string): Promise<boolean> {
	const found = await stat(`${file}.wal`).catch(() => undefined);
	return found !== undefined && found.size > 0;
}

/**
 * The file's size and time, and its three headers of 4 KiB, which count its checkpoints
 * (https://duckdb.org/docs/current/internals/storage).
 */
async function stateOf(file: string): Promise<string> {
	const handle = await open(file);
	try {
		const { size, mtimeNs } = await handle.stat({ bigint: true });
		const headers = Buffer.alloc(3 * 4096);
		await handle.read(headers, 0, headers.length, 0);
		const digest = createHash("sha256").update(headers).digest("hex");
		return `${size}-${mtimeNs}-${digest}`;
	} finally {
		await handle.close();
	}
}

async function readNote(path: string): Promise<Note | undefined> {
	const handle = await open(path);
	try {
		const { size } = await handle.stat();
		if (size > maxNoteBytes) return undefined;
		return JSON.parse(await handle.readFile("utf8"));
	} finally {
		await handle.close();
	}
}

/** See {@link heldDates}. */
export async function duckDBHeld(
	input: LoadInput,
	manifest: Manifest,
	existing: DuckDBTable | undefined,
	session: Session,
	known: KnownDates,
): Promise<Map<UtcDate, HeldDate> | undefined> {
	const { name } = input.table;
	const same: UtcDate[] = [];
	const read = async (
		_: DuckDBTable,
		record: string,
		dates: UtcDate[],
		isOther: boolean,
	) => {
		if (!(await hasRecords(session))) return undefined;
		const onDates = `date IN (${datesSql(dates)})`;
		const counts = await session.rows<{ date: string; rows: bigint }>(
			`SELECT date::VARCHAR AS date, count(*) AS rows FROM ${quoteName(name)} WHERE ${onDates} GROUP BY ALL`,
		);
		const onRecord = `record = ${quoteText(record)} AND lower(table_name) = lower(${quoteText(name)}) AND ${onDates}`;
		const loadsOf = new Map([
			...(await recordedLoads(name, takenOver(record), onDates, session)),
			...(await recordedLoads(name, record, onDates, session)),
		]);
		const digests = await session.rows<{ date: string; digest: string }>(
			`SELECT date::VARCHAR AS date, digest FROM ${digestTable} WHERE ${onRecord} AND engine = version()`,
		);
		const digestOf = new Map(digests.map(({ date, digest }) => [date, digest]));
		const rowsOf = new Map(counts.map(({ date, rows }) => [date, rows]));
		const isKnown = (date: UtcDate) =>
			digestOf.has(date) && known.has(name, date);
		const unknown = isOther
			? []
			: dates.filter((date) => rowsOf.has(date) && !isKnown(date));
		const found = new Map(await readDigests(input.table, unknown, session));
		return (date: UtcDate, isOld: boolean) => {
			const rows = rowsOf.get(date) ?? 0n;
			const recorded = digestOf.get(date);
			const digest = isKnown(date) ? recorded! : (found.get(date) ?? "0");
			const loads = loadsOf.get(date) ?? [];
			const about = { rows: Number(rows), digest, loads };
			const isNew = loads.length === 0 && (!isOld || rows === 0n);
			const loadedDigest = recorded ?? (isNew ? "0" : undefined);
			if (loadedDigest !== undefined) {
				if (digest === recorded && !isOther) same.push(date);
				return { ...about, loadedDigest };
			}
			// What is in it was forgotten, was filled otherwise, or is known by another engine's hash.
			return loads.length === 0
				? undefined
				: { ...about, loadedDigest: digest, isFilledOtherwise: true as const };
		};
	};
	const held = await heldDates(duckDBTables, input, manifest, existing, read);
	if (held) known.add(name, same, firstNoted(manifest));
	return held;
}

async function readDigests(
	{ name, columns }: LoadInput["table"],
	dates: readonly UtcDate[],
	session: Session,
): Promise<(readonly [UtcDate, string])[]> {
	if (dates.length === 0) return [];
	const found = await session.rows<{ date: string; digest: string }>(
		`SELECT date::VARCHAR AS date, ${digestSql(columns)} AS digest FROM ${quoteName(name)}` +
			` WHERE date IN (${datesSql(dates)}) GROUP BY ALL`,
	);
	return found.map(({ date, digest }) => [date, digest]);
}

/** Who dropped one only costs the next Run a replacement of its days. */
async function hasRecords(session: Session): Promise<boolean> {
	const names = [recordTable, digestTable].map(quoteText).join(", ");
	const found = await session.rows(
		`SELECT 1 AS one FROM duckdb_tables() WHERE database_name = current_database()` +
			` AND schema_name || '.' || table_name IN (${names})`,
	);
	return found.length === 2;
}

import { createHash } from "node:crypto";
import { open, rename, rm, stat, writeFile } from "node:fs/promises";
import type { Manifest } from "../../../contracts/manifest.ts";
import { addDays, type UtcDate, utcDate } from "../../../contracts/utc-date.ts";
import type { Session } from "../../../duckdb/session.ts";
import type { Logger } from "../../../service/log.ts";

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

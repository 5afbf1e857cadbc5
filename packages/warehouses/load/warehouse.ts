import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { DestinationInput, LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { Session } from "../../duckdb/session.ts";
import type { Logger } from "../../service/log.ts";
import type { TableTypes } from "./incompatibility.ts";
import type { DayObject, HeldDate, LoadDay } from "./load-day.ts";
import type { RowAccess } from "./row-access.ts";
import type { UnheldValues } from "./value-counts.ts";

/** What a Job gives the warehouse that it opens. */
export interface WarehouseContext {
	log: Logger;
	/** Fires when the Pod must stop. */
	signal: AbortSignal;
	/** Directory for temporary files. */
	scratch: string;
	/** Directory of warehouses that are files; undefined if there is none. */
	warehouse: string | undefined;
	/** How long to wait for a process that holds such a file. */
	busyWaitMs: number;
}

/** Gets the objects of days onto the scratch volume, checked and as the table shall have them. Throws {@link JobFailure}. */
export interface DayFiles {
	readonly directory: string;
	/**
	 * Gets days for `use`, then deletes their files. Waits until no other day is on disk.
	 * @param arrived may be called with objects as they arrive, which nobody has checked yet.
	 */
	with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
		arrived?: (object: DayObject) => void,
	): Promise<T>;
}

/** What each type's load/warehouse.ts exports. */
export interface WarehouseModule {
	/** Throws {@link JobFailure}. */
	open(
		input: DestinationInput,
		context: WarehouseContext,
	): Warehouse | Promise<Warehouse>;
}

/** The content of a Secret's key that a Job has in the file that the variable names; undefined if there is none. */
export async function secretFile(env: string): Promise<string | undefined> {
	const path = process.env[env];
	return path === undefined ? undefined : readFile(path, "utf8");
}

/** A Destination's warehouse, as load and check see it. Every failure is a {@link JobFailure}. */
export interface Warehouse {
	/** Once `load` or `check` has ended: what the warehouse does that people may not expect, such as to delete old days. */
	readonly warning?: string | undefined;
	/**
	 * What the table holds of the manifest's dates; undefined if it can't be known. A warehouse without this method
	 * replaces every day.
	 */
	held?(
		input: LoadInput,
		manifest: Manifest,
	): Promise<ReadonlyMap<UtcDate, HeldDate> | undefined>;
	/**
	 * Throws the {@link JobFailure} with which `load` would refuse the table that it found, and changes nothing. For a Run that
	 * loads two tables: it changes neither if the second is refused.
	 */
	requireUsable(input: LoadInput, manifest: Manifest): Promise<void>;
	/** Of the table as it is; undefined if there is none. */
	typesOf(table: LoadInput["table"]): Promise<TableTypes | undefined>;
	/**
	 * Values of a table's columns that fit their types, and that the warehouse can't hold all the same; absent if it holds all.
	 * @param session gets the functions that the conditions need.
	 */
	unheld?(table: LoadInput["table"], session: Session): UnheldValues[];
	/**
	 * Puts the manifest's days into the table, each as a whole: Incremental replaces these days and no others, but only adds
	 * to those that keep rows; FullReload replaces the table. The days' objects are on disk and checked, or `files` gets them
	 * for a warehouse that takes its days one by one. Safe to repeat at any time. Throws {@link JobFailure} TableIncomplete, before it changes anything, if the table would lack days
	 * afterwards, and {@link TableChanged} if rows that a day keeps aren't what they were. Returns how many rows the table has
	 * afterwards, on all dates; undefined if it can't say.
	 */
	load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<number | undefined>;
	/** How rows are found and changed that no load puts anew. */
	rowAccess(input: Pick<LoadInput, "run">, manifest: Manifest): RowAccess;
	/** Opens once what each of several calls would open for itself, and closes it after `work`. Absent where that is no matter. */
	together?<T>(work: () => Promise<T>): Promise<T>;
	/** Verifies that a Run could write, and leaves nothing behind. */
	check(): Promise<void>;
	/** Ends what it has open, which would keep the process. */
	close?(): Promise<void>;
}

/** Throws {@link TableChanged} if rows that a day keeps aren't what the table holds now. */
export function requireSameRows(
	table: string,
	days: readonly LoadDay[],
	held: ReadonlyMap<UtcDate, HeldDate> | undefined,
): void {
	for (const { date, kept } of days)
		if (kept && !isDeepStrictEqual(kept.held, held?.get(date)))
			throw new TableChanged(table);
}

/** Somebody has changed the table since it was read. Nothing was written; load the days as a whole. */
export class TableChanged extends Error {
	override name = "TableChanged";

	constructor(table: string, reason = "isn't what it was when the load began") {
		super(`Table ${table} ${reason}`);
	}
}

import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { Session } from "../../duckdb/session.ts";
import type { Logger } from "../../service/log.ts";
import type { HeldDate, LoadDay, UnfitRows } from "./load-day.ts";

/** What a Job gives the Destination that it opens. */
export interface DestinationContext {
	log: Logger;
	/** Fires when the Pod must stop. */
	signal: AbortSignal;
	/** Directory for temporary files. */
	scratch: string;
	/** Directory that `duckDB.path` is relative to; undefined if the Destination is no file. */
	warehouse: string | undefined;
	/** How long to wait for a process that holds the DuckDB file. */
	busyWaitMs: number;
}

/** Gets the objects of days onto the scratch volume, checked and as the table shall have them. Throws {@link JobFailure}. */
export interface DayFiles {
	readonly directory: string;
	/** Gets days for `use`, then deletes their files. Waits until no other day is on disk. */
	with<T>(
		days: LoadDay[],
		use: (days: LoadDay[], session: Session) => Promise<T>,
	): Promise<T>;
	/** The values of a day that don't fit their column; undefined if only its files can tell. */
	unfitOf(day: LoadDay): UnfitRows | undefined;
}

/** A Destination, as load and check see it. Every failure is a {@link JobFailure}. */
export interface Destination {
	/**
	 * What the table holds of the manifest's dates; undefined if it can't be known. A Destination without this method
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
	/**
	 * Puts the manifest's days into the table, each as a whole: Incremental replaces these days and no others, but only adds
	 * to those that keep rows; FullReload replaces the table. The days' objects are on disk and checked, or `files` gets them
	 * for a Destination that takes its days one by one. Safe to repeat at any time. Throws {@link JobFailure} TableIncomplete, before it changes anything, if the table would lack days
	 * afterwards, and {@link TableChanged} if rows that a day keeps aren't what they were.
	 */
	load(
		input: LoadInput,
		manifest: Manifest,
		days: LoadDay[],
		files: DayFiles,
	): Promise<void>;
	/** Verifies that a Run could write, and leaves nothing behind. */
	check(): Promise<void>;
}

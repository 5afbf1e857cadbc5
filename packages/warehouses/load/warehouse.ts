import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { BodyMatch } from "../../contracts/archive.ts";
import type { DestinationInput, LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { Session } from "../../duckdb/session.ts";
import type { Logger } from "../../service/log.ts";
import type { DayObject, HeldDate, LoadDay } from "./load-day.ts";
import type { ExistingColumn, TableTypes } from "./table-plan.ts";
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

/** How a warehouse writes SQL. */
export interface RowDialect {
	/** A table's name. */
	table(name: string): string;
	name(name: string): string;
	text(text: string): string;
	date(date: string): string;
	/** Whether a column has no value, if that isn't NULL alone. */
	isEmpty?(name: string): string;
	/** The condition on a body, where the warehouse's SQL can call {@link file://./body-values.ts ours}; else bodies are read. */
	bodyHas?(body: string, match: BodyMatch): string;
	/** The text of a body that is read, if the column's type isn't one of texts. */
	bodyText?(body: string, type: string): string;
	/** Of bodies that are read, the condition that a text has a pattern of RE2. Without it, all are read. */
	textHas?(text: string, pattern: string): string;
	/** A text that differs for each text of a body. A warehouse has this or {@link RowDialect.bodyHas}. */
	bodyDigest?(text: string): string;
	/** A body of which nothing is left, if it isn't a text. */
	blankBody?(type: string): string;
}

/** A column that isn't computed from others. */
export interface BlankableColumn extends ExistingColumn {
	/**
	 * What says nothing, in SQL: NULL, or a value that the type has in its place. Undefined if no row can have that, such as in a
	 * column that takes no NULL or one of a key.
	 */
	blank: string | undefined;
}

/** A table as the warehouse has it. */
export interface MarkedTable {
	name: string;
	/** All that it has, whoever made them, but for those that are computed from others. */
	columns: BlankableColumn[];
}

/** How rows that loads have left are found and changed in a warehouse. Every failure is a {@link JobFailure}. */
export interface RowAccess {
	dialect: RowDialect;
	/**
	 * The tables with the mark that the Pipeline's loads leave for the manifest's Source: also those that no Run of today loads, such as
	 * one with another name, or of events in quarantine where the Pipeline had that once.
	 */
	tables(options?: {
		/** Whether to remove what killed loads have left beside them. What a load may be reading goes, too. */
		removesLeft?: boolean;
	}): Promise<MarkedTable[]>;
	/**
	 * Throws {@link JobFailure} if the warehouse hides rows of a table from the Job, or lets it change none. Absent where each statement fails then, or none is
	 * ever hidden.
	 */
	requireAllSeen?(table: MarkedTable): Promise<void>;
	/** How many rows a table has that meet a condition. */
	count(table: string, condition: string): Promise<number>;
	/** By one statement, which is done as a whole. Returns how many rows it changed. Throws {@link JobFailure} if rows that are meant stay as they were. */
	change(table: string, statement: RowStatement): Promise<number>;
	/**
	 * The names of what somebody has detached from a table and may attach again: nobody finds a row there, and it may have some that are
	 * meant. Absent where that can't be.
	 */
	detached?(table: MarkedTable): Promise<string[]>;
	/**
	 * The rows of a query, with two texts each; of a warehouse that reads bodies.
	 * @param pageRows How many short rows an answer may have, where a warehouse answers page by page.
	 */
	read?(
		query: string,
		pageRows?: number,
	): AsyncIterable<readonly [text: string | null, other: string | null]>;
}

export interface RowStatement {
	condition: string;
	/** What is set in a row that stays; undefined if it goes. */
	assignments: readonly Assignment[] | undefined;
}

/** In SQL. */
export interface Assignment {
	column: string;
	value: string;
}

/** @param table its name in SQL. */
export function statementSql(
	table: string,
	{ condition, assignments }: RowStatement,
): string {
	const change = assignments
		? `UPDATE ${table} SET ${assignmentsSql(assignments)}`
		: `DELETE FROM ${table}`;
	return `${change} WHERE ${condition}`;
}

export function assignmentsSql(assignments: readonly Assignment[]): string {
	return assignments
		.map(({ column, value }) => `${column} = ${value}`)
		.join(", ");
}

import type { ManifestObject } from "../../contracts/manifest.ts";
import type { UtcDate } from "../../contracts/utc-date.ts";
import type { Session } from "../../duckdb/session.ts";

/** What to load of a date, with a local file for each object. */
export interface LoadDay {
	date: UtcDate;
	/** Of `objects`, as far as that is known before the steps are done. */
	rows: number;
	objects: DayObject[];
	/** What is done to the rows of the objects before a warehouse gets them, in this order. */
	steps: readonly DayStep[];
	/** The rows that stay in the table. Absent if the day is replaced. */
	kept?: KeptRows;
	/** Values of `rows` that don't fit their column. Known once the objects are on disk. */
	unfit?: UnfitRows;
}

/** What a feature does to the rows of a day, in DuckDB's SQL about the columns of the objects as the steps before have left them. */
export interface DayStep {
	/** Names of objects that decide which rows count: they stand in the table's record beside those that the rows come from. */
	deciding?: readonly string[];
	/** Objects that it needs on disk beside the day's own. */
	brings?: readonly DayObject[];
	/** The condition of the rows that stay. */
	keep?: string;
	/** What takes the place of columns' values in rows of the condition `where`. */
	replace?: { where: string; by: Readonly<Record<string, string>> };
	/** Gives the session the functions that these need. */
	define?(session: Session): void;
	/** How many rows it leaves out; absent if only the objects tell. */
	leavesOut?: number;
	/** Throws if it mustn't have left out so many rows. */
	requireLeftOut?(rows: number): void;
}

/** The names of the objects that a record has of a day that is replaced. */
export function recordedNames({ steps, objects }: LoadDay): string[] {
	return [
		...steps.flatMap(({ deciding = [] }) => deciding),
		...objects.map(nameOf),
	];
}

/** Objects that a day's steps need on disk. */
export function broughtBy({ steps }: LoadDay): DayObject[] {
	return steps.flatMap(({ brings = [] }) => brings);
}

export interface DayObject extends ManifestObject {
	/** Path that the object is downloaded to. */
	file: string;
	/** Of the bodies in it, uncompressed. Known once it is checked. */
	bodyBytes?: number;
	/** Rows of the largest group in it. Known once it is checked. */
	groupRows?: number;
}

/** A date as a table has it. */
export interface HeldDate {
	/** Counted now. */
	rows: number;
	/** Of the rows' values, now. */
	digest: string;
	/** The same when the last load had ended. */
	loadedDigest: string;
	/** What loads say that they have put there. */
	loads: readonly RecordedLoad[];
	/** Loads would put other rows or values there today, so the date is replaced, and its digests say nothing. */
	isFilledOtherwise?: true;
	/** The whole table is, with this date. */
	isReplaced?: true;
}

/** What one load has put into one date. */
export interface RecordedLoad {
	/** Names of objects, without their folder. */
	objects: string[];
	rows: number;
	unfit: UnfitRows;
	/** Uid of the Run that inserted the rows; empty for rows of several. */
	run: string;
}

/** The rows of a date that stay in the table. */
export interface KeptRows {
	rows: number;
	unfit: UnfitRows;
	/** What this rests on. */
	held: HeldDate;
	/** The names that the objects of these rows have now, if compaction has replaced some. */
	renamed?: string[];
}

/** By column from the body. Columns without values may be absent. */
export type UnfitRows = Readonly<Record<string, UnfitCount>>;

export interface UnfitCount {
	/** With a value that doesn't fit the column. */
	rows: number;
	/** Rows with any value there, neither absent nor null. */
	values: number;
	/** Id of the latest event with an unfit value. */
	eventID?: string;
}

export function addUnfit(counts: Iterable<UnfitRows>): UnfitRows {
	const sum: Record<string, UnfitCount> = {};
	for (const count of counts)
		for (const [column, { rows, values, eventID = "" }] of Object.entries(
			count,
		)) {
			const before = sum[column];
			// Ids begin with their time.
			const [, latest = ""] = [before?.eventID ?? "", eventID].sort();
			sum[column] = {
				rows: rows + (before?.rows ?? 0),
				values: values + (before?.values ?? 0),
				...(latest !== "" && { eventID: latest }),
			};
		}
	return sum;
}

/** Loads as one, where nobody asks any more which of them has loaded what. */
export function joinedLoad(loads: readonly RecordedLoad[]): RecordedLoad {
	return {
		objects: loads.flatMap(({ objects }) => objects),
		rows: rowsOf(loads),
		unfit: addUnfit(loads.map(({ unfit }) => unfit)),
		run: "",
	};
}

export function rowsOf(objects: readonly { rows: number }[]): number {
	return objects.reduce((sum, { rows }) => sum + rows, 0);
}

/** The name of an object in its folder. */
export function nameOf({ key }: Pick<ManifestObject, "key">): string {
	return key.slice(key.lastIndexOf("/") + 1);
}

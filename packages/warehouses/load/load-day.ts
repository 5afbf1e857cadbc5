import type { ManifestDate, ManifestObject } from "../../contracts/manifest.ts";

/** What to load of a day of the manifest, with a local file for each object. */
export interface LoadDay extends ManifestDate {
	/** Of `objects`. */
	rows: number;
	objects: DayObject[];
	/** The rows that stay in the table. Absent if the day is replaced. */
	kept?: KeptRows;
	/** Names of objects that decide which rows of `objects` count. */
	deciding?: readonly string[];
	/** For a day of the quarantine: the objects with events that were released from it. */
	released?: DayObject[];
	/** Objects with rows that are among those of `objects`, and stay in the table. */
	without?: DayObject[];
	/** Values of `rows` that don't fit their column. */
	unfit?: UnfitRows;
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

import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import {
	type Addition,
	type KeptRows,
	nameOf,
	type WantedDate,
} from "../addition/addition.ts";
import type { UnfitRows } from "../addition/unfit-rows.ts";

/** What to load of a day of the manifest, with a local file for each object. */
export interface LoadDay extends ManifestDate {
	/** Of `objects`. */
	rows: number;
	objects: DayObject[];
	/** The rows that stay in the table. Absent if the day is replaced. */
	kept?: KeptRows;
	/** Names of objects that decide which rows of `objects` count; see {@link WantedDate}. */
	deciding?: readonly string[];
	/** For a day of the quarantine: the objects with events that were released from it. */
	released?: DayObject[];
	/** Values of `rows` that don't fit their column. */
	unfit?: UnfitRows;
}

export interface DayObject extends ManifestObject {
	/** Path that the object is downloaded to. */
	file: string;
}

/** For a date of the manifest, what a table lacks of it; undefined if it must be replaced. */
export type AdditionOf = (
	date: string,
	wanted: WantedDate,
) => Addition | undefined;

const replaceAll: AdditionOf = () => undefined;

/** The manifest's days, ascending, with a file in `directory` for each object. */
export function planDays(
	{ dates }: Manifest,
	directory: string,
	additionOf = replaceAll,
): LoadDay[] {
	return dates.map((day) => ({
		...day,
		...planDate(
			`${directory}/${day.date}`,
			day.objects,
			additionOf(day.date, day),
		),
	}));
}

/**
 * The same days with what is in quarantine. What was released decides which of their rows count: those are also among the
 * days' own, and have files of their own here.
 */
export function planQuarantine(
	{ dates }: Manifest,
	directory: string,
	additionOf = replaceAll,
): LoadDay[] {
	return dates.map(({ date, objects: own, quarantine }) => {
		const { objects = [] } = quarantine ?? {};
		const released = own.filter(({ released }) => released);
		const deciding = released.map(nameOf);
		const prefix = `${directory}/${date}-quarantine`;
		const addition = additionOf(date, { objects, deciding });
		const day = planDate(prefix, objects, addition);
		return {
			date,
			...(deciding.length > 0 && { deciding }),
			...day,
			// Rows that are added came after all that was released.
			...(deciding.length > 0 &&
				day.objects.length > 0 &&
				!addition && {
					released: withFiles(`${prefix}-released`, released),
				}),
		};
	});
}

function planDate(
	prefix: string,
	all: ManifestObject[],
	addition: Addition | undefined,
): Pick<LoadDay, "rows" | "objects" | "kept"> {
	const objects = withFiles(prefix, addition?.objects ?? all);
	return {
		rows: rowsOf(objects),
		objects,
		...(addition && { kept: addition.kept }),
	};
}

function withFiles(prefix: string, objects: ManifestObject[]): DayObject[] {
	return objects.map((object, index) => ({
		...object,
		file: `${prefix}-${index}.parquet`,
	}));
}

export function rowsOf(objects: readonly { rows: number }[]): number {
	return objects.reduce((sum, { rows }) => sum + rows, 0);
}

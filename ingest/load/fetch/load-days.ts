import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../../contracts/manifest.ts";
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
 * days' own.
 */
export function planQuarantine(
	{ dates }: Manifest,
	directory: string,
	additionOf = replaceAll,
): LoadDay[] {
	return dates.map(({ date, objects: own, quarantine }) => {
		const { objects = [] } = quarantine ?? {};
		const deciding = own.filter(({ released }) => released).map(nameOf);
		return {
			date,
			...(deciding.length > 0 && { deciding }),
			...planDate(
				`${directory}/${date}-quarantine`,
				objects,
				additionOf(date, { objects, deciding }),
			),
		};
	});
}

function planDate(
	prefix: string,
	all: ManifestObject[],
	addition: Addition | undefined,
): Pick<LoadDay, "rows" | "objects" | "kept"> {
	const objects = (addition?.objects ?? all).map((object, index) => ({
		...object,
		file: `${prefix}-${index}.parquet`,
	}));
	return {
		rows: objects.reduce((sum, { rows }) => sum + rows, 0),
		objects,
		...(addition && { kept: addition.kept }),
	};
}

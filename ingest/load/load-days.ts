import type { LoadInput } from "../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestObject,
} from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import {
	type DayObject,
	type HeldDate,
	type LoadDay,
	nameOf,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { additionTo, type DateAddition, type WantedDate } from "./addition.ts";

/** What a table holds, by date; undefined if that can't be known. */
export type HeldDates = ReadonlyMap<UtcDate, HeldDate> | undefined;

export interface TablePlans {
	days: LoadDay[];
	/** Of the table of events in quarantine, if there is one. */
	apart?: LoadDay[];
}

/** What to download for the Run's tables: all days as a whole, or, where a table says what it holds, what is new. */
export function planTables(
	{ quarantineTable, filter }: Pick<LoadInput, "quarantineTable" | "filter">,
	manifest: Manifest,
	directory: string,
	held: { table?: HeldDates; quarantineTable?: HeldDates } = {},
): TablePlans {
	const days = planDays(manifest, directory, additionsTo(held.table, filter));
	if (!quarantineTable) return { days };
	const added = additionsTo(held.quarantineTable, filter);
	return { days, apart: planQuarantine(manifest, directory, added) };
}

function additionsTo(held: HeldDates, filter: LoadInput["filter"]): AdditionOf {
	return (date, { rows, ...wanted }) => {
		const day = held?.get(date);
		// The ledger counts all events, and not those that the filter wants.
		const counted = filter || rows === undefined ? wanted : { ...wanted, rows };
		return day && additionTo(counted, day);
	};
}

/** For a date of the manifest, what a table lacks of it; undefined if it must be replaced. */
export type AdditionOf = (
	date: string,
	wanted: WantedDate,
) => DateAddition | undefined;

const replaceAll: AdditionOf = () => undefined;

/** The manifest's days, ascending, with a file in `directory` for each object. */
export function planDays(
	{ dates }: Manifest,
	directory: string,
	additionOf = replaceAll,
): LoadDay[] {
	return dates.map(({ erased, ...day }) => {
		const deciding = erased?.by ?? [];
		const rows = day.rows - (erased?.rows ?? 0);
		return {
			...day,
			...(deciding.length > 0 && { deciding }),
			...planDate(
				`${directory}/${day.date}`,
				day.objects,
				additionOf(day.date, { ...day, rows, deciding }),
			),
		};
	});
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
	return dates.map(({ date, objects: own, quarantine, erased }) => {
		const { objects = [] } = quarantine ?? {};
		const released = own.filter(({ released }) => released);
		const deciding = [...released.map(nameOf), ...(erased?.by ?? [])];
		const prefix = `${directory}/${date}-quarantine`;
		const addition = additionOf(date, { objects, deciding });
		const day = planDate(prefix, objects, addition);
		return {
			date,
			...(deciding.length > 0 && { deciding }),
			...day,
			// Rows that are added came after all that was released.
			...(released.length > 0 &&
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
	addition: DateAddition | undefined,
): Pick<LoadDay, "rows" | "objects" | "without" | "kept"> {
	const objects = withFiles(prefix, addition?.objects ?? all);
	const without = withFiles(`${prefix}-without`, addition?.without ?? []);
	return {
		rows: rowsOf(objects) - rowsOf(without),
		objects,
		...(without.length > 0 && { without }),
		...(addition && { kept: addition.kept }),
	};
}

function withFiles(prefix: string, objects: ManifestObject[]): DayObject[] {
	return objects.map((object, index) => ({
		...object,
		file: `${prefix}-${index}.parquet`,
	}));
}

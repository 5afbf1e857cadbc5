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
	/** Days whose values that don't fit a table of them lacks, if there is one: it gets a row for each, and not for each event. */
	rejecting?: LoadDay[];
}

/** What to download for the Run's tables: all days as a whole, or, where a table says what it holds, what is new. */
export function planTables(
	{
		quarantineTable,
		rejectedTable,
		filter,
	}: Pick<LoadInput, "quarantineTable" | "rejectedTable" | "filter">,
	manifest: Manifest,
	directory: string,
	held: {
		table?: HeldDates;
		quarantineTable?: HeldDates;
		rejectedTable?: HeldDates;
	} = {},
): TablePlans {
	const days = planDays(manifest, directory, additionsTo(held.table, filter));
	return {
		days,
		...(quarantineTable && {
			apart: planQuarantine(
				manifest,
				directory,
				additionsTo(held.quarantineTable, filter),
			),
		}),
		...(rejectedTable && {
			rejecting: planRejecting(
				days,
				manifest,
				directory,
				additionsTo(held.rejectedTable, filter),
			),
		}),
	};
}

/**
 * For each of the `days` of a table: what the table of values that don't fit lacks of it. Its rows are the events'. Where both tables lack the same,
 * the files are the same.
 */
function planRejecting(
	days: LoadDay[],
	{ dates }: Manifest,
	directory: string,
	additionOf: AdditionOf,
): LoadDay[] {
	return days.map((day, index) => {
		const { date, deciding } = day;
		// How many values don't fit no ledger knows.
		const { rows: _, ...wanted } = dates[index]!;
		const own = planDate(
			`${directory}/${date}-rejecting`,
			wanted.objects,
			additionOf(date, { ...wanted, ...(deciding && { deciding }) }),
		);
		const isSame =
			keysOf(own.objects) === keysOf(day.objects) &&
			keysOf(own.without) === keysOf(day.without);
		const { objects, without, rows } = isSame ? day : own;
		return {
			date,
			rows,
			objects,
			...(deciding && { deciding }),
			...(without && { without }),
			...(own.kept && { kept: own.kept }),
		};
	});
}

function keysOf(objects: readonly DayObject[] = []): string {
	return objects.map(({ key }) => key).join("\n");
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

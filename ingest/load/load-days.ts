import type { LoadInput } from "../../packages/contracts/job.ts";
import type { ManifestObject } from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import {
	broughtBy,
	type DayObject,
	type DayStep,
	type HeldDate,
	type LoadDay,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { additionTo, type WantedDate } from "./addition.ts";
import { shrinkageOf } from "./shrinking-days.ts";
import type { DateAddition } from "./steps/step.ts";
import type { WantedTable } from "./wanted-tables.ts";

/** What a table holds, by date; undefined if that can't be known. */
export type HeldDates = ReadonlyMap<UtcDate, HeldDate> | undefined;

export interface TablePlans {
	days: LoadDay[];
	/** Of the tables beside it that have events, too. */
	beside: LoadDay[][];
	/** Days whose values that don't fit a table of them lacks, if there is one: it gets a row for each, and not for each event. */
	rejecting?: LoadDay[];
}

/** What to download for the Run's tables: all days as a whole, or, where a table says what it holds, what is new. */
export function planTables(
	[own, ...beside]: readonly [WantedTable, ...WantedTable[]],
	rejectedTable: LoadInput["rejectedTable"],
	directory: string,
	held: ReadonlyMap<string, HeldDates> = new Map(),
	staying?: ReadonlySet<UtcDate>,
): TablePlans {
	const heldIn = ({ name }: { name: string }) => held.get(name);
	const days = planDays(own.dates, directory, heldIn(own.table), "", staying);
	return {
		days,
		beside: beside.map(({ table, dates }, index) =>
			planDays(dates, directory, heldIn(table), `-beside-${index}`, staying),
		),
		...(rejectedTable && {
			rejecting: planRejecting(
				days,
				own,
				directory,
				heldIn(rejectedTable),
				staying,
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
	{ dates }: WantedTable,
	directory: string,
	held: HeldDates,
	staying?: ReadonlySet<UtcDate>,
): LoadDay[] {
	// How many values don't fit no ledger knows.
	const wanted = dates.map(({ rows: _, ...date }) => date);
	const name = "-rejecting";
	return planDays(wanted, directory, held, name, staying).map((own, index) => {
		const day = days[index]!;
		const isSame =
			keysOf(own.objects) === keysOf(day.objects) &&
			keysOf(broughtBy(own)) === keysOf(broughtBy(day));
		const { kept: _, ...same } = day;
		return isSame ? { ...same, ...(own.kept && { kept: own.kept }) } : own;
	});
}

function keysOf(objects: readonly DayObject[]): string {
	return objects.map(({ key }) => key).join("\n");
}

/**
 * The dates, ascending, each with a file in `directory` for each object.
 * @param held What the table holds of them: a date that can't be added to is replaced.
 * @param name Part of the files' names.
 * @param staying Dates that aren't replaced, since they would lose rows.
 */
export function planDays(
	dates: readonly (WantedDate & { date: UtcDate })[],
	directory: string,
	held?: HeldDates,
	name = "",
	staying: ReadonlySet<UtcDate> = new Set(),
): LoadDay[] {
	return dates.map((wanted) => {
		const before = held?.get(wanted.date);
		const addition =
			before &&
			((staying.has(wanted.date) &&
				shrinkageOf(wanted, { held: [before] })?.addition) ||
				additionTo(wanted, before));
		return planDay(wanted, `${directory}/${wanted.date}${name}`, addition);
	});
}

function planDay(
	{ date, objects: all, steps = [] }: WantedDate & { date: UtcDate },
	prefix: string,
	addition: DateAddition | undefined,
): LoadDay {
	const objects = withFiles(prefix, addition?.objects ?? all);
	const files = (name: string, objects: readonly ManifestObject[]) =>
		withFiles(`${prefix}-${name}`, objects);
	const own = steps.flatMap(({ deciding = [], on }): DayStep[] => {
		const step = objects.length > 0 ? on?.({ addition, files }) : undefined;
		const decides = deciding.length > 0 && { deciding };
		return step || decides ? [{ ...step, ...decides }] : [];
	});
	const leftOut = own.reduce((sum, { leavesOut = 0 }) => sum + leavesOut, 0);
	return {
		date,
		rows: rowsOf(objects) - leftOut,
		objects,
		steps: own,
		...(addition && { kept: addition.kept }),
	};
}

function withFiles(
	prefix: string,
	objects: readonly ManifestObject[],
): DayObject[] {
	return objects.map((object, index) => ({
		...object,
		file: `${prefix}-${index}.parquet`,
	}));
}

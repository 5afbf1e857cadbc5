import type { LoadInput } from "../../../packages/contracts/job.ts";
import type { Manifest } from "../../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import type {
	HeldDate,
	LoadDay,
} from "../../../packages/warehouses/load/load-day.ts";
import { additionTo } from "../addition/addition.ts";
import { type AdditionOf, planDays, planQuarantine } from "./load-days.ts";

/** What a table holds, by date; undefined if that can't be known. */
export type Held = ReadonlyMap<UtcDate, HeldDate> | undefined;

export interface TablePlans {
	days: LoadDay[];
	/** Of the table of events in quarantine, if there is one. */
	apart?: LoadDay[];
}

/** What to download for the Run's tables: all days as a whole, or, where a table says what it holds, what is new. */
export function planTables(
	{ quarantineTable }: Pick<LoadInput, "quarantineTable">,
	manifest: Manifest,
	directory: string,
	held: { table?: Held; quarantineTable?: Held } = {},
): TablePlans {
	const days = planDays(manifest, directory, additionsTo(held.table));
	if (!quarantineTable) return { days };
	const added = additionsTo(held.quarantineTable);
	return { days, apart: planQuarantine(manifest, directory, added) };
}

function additionsTo(held: Held): AdditionOf {
	return (date, wanted) => {
		const day = held?.get(date);
		return day && additionTo(wanted, day);
	};
}

import type { LoadInput } from "../../../contracts/job.ts";
import type { Manifest } from "../../../contracts/manifest.ts";
import type { UtcDate } from "../../../contracts/utc-date.ts";
import { additionTo, type HeldDate } from "../addition/addition.ts";
import {
	type AdditionOf,
	type LoadDay,
	planDays,
	planQuarantine,
} from "./load-days.ts";

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
	const own = additionsTo(held.table);
	if (!quarantineTable) return { days: planDays(manifest, directory, own) };
	const apart = planQuarantine(
		manifest,
		directory,
		additionsTo(held.quarantineTable),
	);
	// What was released tells which events are in quarantine no more, and is among the day's own objects.
	const whole = new Set(
		apart
			.filter(({ kept, objects, deciding }) => !kept && objects[0] && deciding)
			.map(({ date }) => date),
	);
	const days = planDays(manifest, directory, (date, wanted) =>
		whole.has(date) ? undefined : own(date, wanted),
	);
	return { days, apart };
}

function additionsTo(held: Held): AdditionOf {
	return (date, wanted) => {
		const day = held?.get(date);
		return day && additionTo(wanted, day);
	};
}

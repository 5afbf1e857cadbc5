import type { LoadInput } from "../../../packages/contracts/job.ts";
import type {
	Manifest,
	ManifestDate,
	ManifestObject,
} from "../../../packages/contracts/manifest.ts";
import { parquetRows } from "../../../packages/duckdb/quoting.ts";
import type {
	DayObject,
	DayStep,
	KeptRows,
} from "../../../packages/warehouses/load/load-day.ts";

/** What a feature does with a date of a table. */
export interface DateStep {
	/** Names of objects that decide which rows of the date count: a table that was loaded without one of them holds others. */
	deciding?: readonly string[];
	/** How many of the date's rows it leaves out, as the ledger has them; absent if only the objects tell. */
	leavesOut?: number;
	/** Finds the rows of objects that are gone in those that are added; undefined if the date must be replaced. */
	explain?(difference: Difference): Difference | undefined;
	/** What to do with the rows of the objects that are loaded. */
	on?(plan: DatePlan): DayStep | undefined;
}

/** What a manifest and a Run's input say of a date of a table. */
export interface DateWords {
	date: ManifestDate;
	/** Whether the table stands beside the Run's own, and has other objects of the date. */
	isBeside: boolean;
	manifest: Manifest;
	input: LoadInput;
}

/** How a date of a table is loaded. */
export interface DatePlan {
	/** Undefined if the date is replaced. */
	addition: DateAddition | undefined;
	/** Objects that a step needs, with files of their own. */
	files(name: string, objects: readonly ManifestObject[]): DayObject[];
}

/** What to insert beside the rows that stay. No objects: the date hasn't changed. */
export interface DateAddition {
	objects: readonly ManifestObject[];
	/** The table holds their rows, and they are among those of `objects`. */
	without?: readonly ManifestObject[];
	kept: KeptRows;
}

/** What differs between a table's record of a date and the manifest. */
export interface Difference {
	/** Names that only the record has, sorted. */
	gone: readonly string[];
	/** Objects that only the manifest has. */
	added: readonly ManifestObject[];
	/** See {@link DateAddition}. */
	without: readonly ManifestObject[];
	/** Names of objects with rows that the table holds from others. */
	renamed: readonly string[];
}

/** Leaves out the events of other objects. */
export function withoutEventsOf(others: readonly DayObject[]): DayStep {
	const rows = parquetRows(others.map(({ file }) => file));
	return {
		brings: others,
		keep: `(event_id IN (SELECT event_id FROM ${rows})) IS NOT TRUE`,
	};
}

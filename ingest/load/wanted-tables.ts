import type { LoadInput } from "../../packages/contracts/job.ts";
import type { Manifest } from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import type { JobSuccess } from "../job/process.ts";
import type { WantedDate } from "./addition.ts";
import { early } from "./steps/early.ts";
import { erased } from "./steps/erased.ts";
import { filtered } from "./steps/filtered.ts";
import { omitted } from "./steps/omitted.ts";
import { released } from "./steps/released.ts";
import type { DateStep, DateWords } from "./steps/step.ts";

/** What is left to do once the tables are loaded. */
export {
	countErased as countMeant,
	eraseOthers as doLater,
	type LaterWork,
} from "./steps/erased.ts";

/*
 * The only file that turns a manifest's words into tables, dates and steps: behind it, nothing knows a feature by name.
 */

/** Each feature of a load, in the order in which a day's steps are done. */
const features: readonly ((words: DateWords) => DateStep | undefined)[] = [
	erased,
	early,
	filtered,
	omitted,
	released,
];

export function stepsOf(words: DateWords): DateStep[] {
	return features.flatMap((step) => step(words) ?? []);
}

/** A table of a Run, with what it shall have of the manifest's dates. */
export interface WantedTable {
	table: LoadInput["table"];
	dates: (WantedDate & { date: UtcDate })[];
	/** Under which name a result has the number of its rows, if the table stands beside the Run's own. */
	counted?: keyof JobSuccess;
}

/** The Run's own table first, then those beside it. */
export function wantedTables(
	input: LoadInput,
	manifest: Manifest,
): [WantedTable, ...WantedTable[]] {
	const own: WantedTable = {
		table: input.table,
		dates: manifest.dates.map((date) => {
			const words = { date, isBeside: false, input, manifest };
			const steps = stepsOf(words);
			const rows = rowsLeft(date.rows, steps);
			const { objects } = date;
			return {
				date: date.date,
				objects,
				...(rows !== undefined && { rows }),
				steps,
			};
		}),
	};
	if (!input.quarantineTable) return [own];
	const apart: WantedTable = {
		table: input.quarantineTable,
		dates: manifest.dates.map((date) => ({
			date: date.date,
			objects: date.quarantine?.objects ?? [],
			steps: stepsOf({ date, isBeside: true, input, manifest }),
		})),
		counted: "quarantinedRows",
	};
	return [own, apart];
}

/** Of a date's rows by the ledger; undefined if only the objects tell. */
function rowsLeft(
	rows: number,
	steps: readonly DateStep[],
): number | undefined {
	const left = steps.map(({ leavesOut }) => leavesOut);
	return left.reduce<number | undefined>(
		(sum, out) =>
			sum === undefined || out === undefined ? undefined : sum - out,
		rows,
	);
}

/** The columns take no values that the warehouse doesn't hold, and say who writes their rows. */
export function withColumnsOf(input: LoadInput, nowMs: number): LoadInput {
	const { limits } = warehouses.get(input.destination.type)!;
	const written = {
		LoadedAt: new Date(nowMs).toISOString(),
		Run: input.run.name,
	};
	const known = <Table extends LoadInput["table"]>(table: Table): Table => ({
		...table,
		columns: table.columns.map((column) => {
			const { from } = column;
			if (from === "LoadedAt" || from === "Run")
				return { ...column, value: written[from] };
			return limits && typeof from === "object" && "bodyPointer" in from
				? { ...column, from: { ...from, limits } }
				: column;
		}),
	});
	const { table, quarantineTable } = input;
	return {
		...input,
		table: known(table),
		...(quarantineTable && { quarantineTable: known(quarantineTable) }),
	};
}

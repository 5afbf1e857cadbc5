import type { Erasure } from "../../../packages/contracts/archive.ts";
import type { LoadInput } from "../../../packages/contracts/job.ts";
import {
	erasedKind,
	type Manifest,
} from "../../../packages/contracts/manifest.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Logger } from "../../../packages/service/log.ts";
import type { Warehouse } from "../../../packages/warehouses/load/warehouse.ts";
import type { JobSuccess } from "../../job/process.ts";
import {
	type ErasedRows,
	erasedWords,
	eraseRows,
	type LoadedTable,
} from "./erased-rows.ts";
import type { DateStep, DateWords } from "./step.ts";

/** Leaves out what erasures have left in the objects. */
export function erased({
	date: { erased },
	manifest: { erasures },
}: Pick<DateWords, "date" | "manifest">): DateStep | undefined {
	if (!erased && !erasures) return undefined;
	const isKnown = !erased && !erasures?.isUnderWay;
	return {
		deciding: erased?.by ?? [],
		leavesOut: erased?.rows ?? 0,
		on: () =>
			erasures && {
				keep: `kind IS DISTINCT FROM ${quoteText(erasedKind)}`,
				...(isKnown && { leavesOut: 0 }),
			},
	};
}

/** What a Run has done about rows that no load puts anew: on dates that the manifest lacks, and in tables that no Run loads any more. */
export interface LaterWork {
	/** A sentence about what people may not expect; undefined for nothing. */
	warning: string | undefined;
	/** For the result. */
	figures: { erasedRows?: number };
	/** How many rows of the named tables are gone. */
	goneFrom(tables: readonly string[]): number;
}

/** As a result has it, with room for what the Run's message says besides. */
const maxWarningLength = 400;

/** Erases what no load puts anew, once the tables are loaded. */
export async function eraseOthers(
	destination: Warehouse,
	input: LoadInput,
	{ manifest, tables }: { manifest: Manifest; tables: LoadInput["table"][] },
	log: Logger,
): Promise<LaterWork> {
	const { others = [] } = manifest.erasures ?? {};
	const isReplaced = input.strategy === "FullReload";
	const { asked, dates } = manifest;
	// What a Run of chosen dates leaves out, others load.
	const through = asked.extent === "Chosen" ? "9999-12-31" : dates.at(-1)?.date;
	const loaded = new Map<string, LoadedTable>(
		tables.map(({ name, columns }) => [name, { columns, isReplaced, through }]),
	);
	const work = () =>
		eraseRows(destination.rowAccess(input, manifest), loaded, others);
	const done: ErasedRows[] =
		others.length === 0 ? [] : await (destination.together?.(work) ?? work());
	for (const about of done)
		log.info(about, "erased rows that no load puts anew");
	const erasedRows = sum(done);
	return {
		warning: erasedWords(done, maxWarningLength),
		figures: erasedRows > 0 ? { erasedRows } : {},
		goneFrom: (tables) =>
			sum(
				done.filter(
					({ table, mode, unblankable }) =>
						tables.includes(table) && (mode === "RemoveRow" || unblankable),
				),
			),
	};
}

/** Counts the rows that an erasure would change in the Pipeline's tables, by what finds them then. Nothing changes. */
export async function countErased(
	destination: Warehouse,
	input: LoadInput,
	{ manifest, tables }: { manifest: Manifest; tables: LoadInput["table"][] },
	erasure: Erasure,
): Promise<JobSuccess> {
	const access = destination.rowAccess(input, manifest);
	const counting: typeof access = {
		...access,
		tables: () => access.tables(),
		change: (table, { condition }) => access.count(table, condition),
	};
	const loaded = new Map<string, LoadedTable>(
		tables.map(({ name, columns }) => [
			name,
			{ columns, isReplaced: false, through: undefined },
		]),
	);
	const work = () =>
		eraseRows(counting, loaded, [{ ...erasure, before: "9999-12-31" }]);
	const all = await (destination.together?.(work) ?? work());
	const done = all.map(({ unblankable: _, ...about }) => about);
	const found = done
		.filter(({ rows }) => rows > 0)
		.toSorted((a, b) => b.rows - a.rows);
	const words = [
		`${sum(found)} rows would be erased or blanked`,
		...found.map(({ table, rows }) => `${rows} in table ${table}`),
	].join(", ");
	const left = erasedWords(done, maxWarningLength / 2);
	const room = maxWarningLength - (left?.length ?? 0);
	return {
		version: 1,
		outcome: "Succeeded",
		...{ rows: 0, bytes: 0, objects: 0 },
		countedRows: sum(found),
		warning: [`${words.slice(0, room)}.`, left].filter(Boolean).join(" "),
	};
}

function sum(done: readonly Pick<ErasedRows, "rows">[]): number {
	return done.reduce((sum, { rows }) => sum + rows, 0);
}

import type { Erasure } from "../../../packages/contracts/archive.ts";
import type {
	LoadInput,
	TableColumn,
} from "../../../packages/contracts/job.ts";
import {
	erasedKind,
	type Manifest,
	type ManifestErasure,
} from "../../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../../packages/contracts/utc-date.ts";
import { quoteText } from "../../../packages/duckdb/quoting.ts";
import type { Logger } from "../../../packages/service/log.ts";
import { JobFailure } from "../../../packages/warehouses/load/failure.ts";
import type {
	Assignment,
	RowAccess,
	RowDialect,
	Warehouse,
} from "../../../packages/warehouses/load/warehouse.ts";
import type { JobSuccess } from "../../job/process.ts";
import type { DateStep, DateWords } from "./step.ts";
import {
	isOfRejectedValues,
	sourceOf,
	type Table,
	type Told,
	tell,
	tellRejected,
} from "./told-rows.ts";

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

/*
 * Which rows are erased, and what of one, the table itself decides by the columns that it has. A column that the Pipeline had once,
 * or that a person made, holds what its rows held when they were loaded.
 */

/** A table that the Run loads. */
interface LoadedTable {
	columns: readonly TableColumn[];
	/** As a whole, so it has no other rows. */
	isReplaced: boolean;
	/** The last date that Runs load; undefined for none. */
	through: UtcDate | undefined;
}

/** What was erased in a table by one erasure. */
interface ErasedRows {
	table: string;
	/** Whether the Run loads it. */
	isLoaded: boolean;
	/** How many have gone, or are blank. */
	rows: number;
	mode: ManifestErasure["mode"];
	before: ManifestErasure["before"];
	/** The column because of which rows went that were to be blank. */
	unblankable?: string;
	/** How many rows may be meant, and no column tells. */
	untold?: number;
	/** See {@link ErasingAccess.detached}. */
	detached?: string[];
	/** Why rows of a table that no Run loads can't be erased. */
	refusal?: string;
}

/**
 * Erases the rows that no load puts anew: of dates before an erasure's in the tables that the Run loads, and in the Pipeline's other
 * tables whatever is there. Safe to repeat.
 * @param loaded by the name of the table.
 * Throws {@link JobFailure}, also for a table that no Run loads if another attempt may succeed.
 */
export async function eraseRows(
	access: RowAccess,
	loaded: ReadonlyMap<string, LoadedTable>,
	erasures: readonly ManifestErasure[],
): Promise<ErasedRows[]> {
	const tables = (await access.tables({ removesLeft: true })).map(
		(table): Table => {
			const { columns, through } = loaded.get(table.name) ?? {};
			return { ...table, loaded: columns, through };
		},
	);
	const some = tables.filter(({ name }) => !loaded.get(name)?.isReplaced);
	const rejected = some.filter(isOfRejectedValues);
	const ofEvents = some.filter((table) => !isOfRejectedValues(table));
	const done: ErasedRows[] = [];
	for (const erasure of erasures) {
		const { mode, before } = erasure;
		const told = new Map<Table, Told>();
		/** A table that no Run loads keeps nobody from the others, unless another attempt may do better. */
		const tried = async <T>(table: Table, work: () => Promise<T>) => {
			try {
				return await work();
			} catch (error) {
				const isRefused = error instanceof JobFailure && !error.retryable;
				if (table.loaded || !isRefused) throw error;
				const about = { table: table.name, isLoaded: false, mode, before };
				done.push({ ...about, rows: 0, refusal: error.what });
				return undefined;
			}
		};
		const erase = async (
			table: Table,
			mode: ManifestErasure["mode"],
			which: Told,
		) => {
			const about = { table: table.name, isLoaded: table.loaded !== undefined };
			const erased = await eraseIn(access, table, mode, which);
			done.push({ ...about, mode, before, ...erased });
		};
		for (const table of ofEvents) {
			const found = await tried(table, async () => {
				await access.requireAllSeen?.(table);
				return tell(access, table, erasure);
			});
			if (found) told.set(table, found);
		}
		// The rows of an event tell which of its rejected values go, so these go first. Nothing of such a row could stay.
		for (const table of rejected)
			await tried(table, async () => {
				await access.requireAllSeen?.(table);
				const which = await tellRejected(access, table, erasure, told);
				await erase(table, "RemoveRow", which);
			});
		for (const [table, which] of told)
			await tried(table, () => erase(table, mode, which));
	}
	return done;
}

/** A sentence about rows that aren't as the Operation says, the worst first; undefined if all are. */
export function erasedWords(
	done: readonly ErasedRows[],
	maxLength: number,
): string | undefined {
	const words = (say: (rows: ErasedRows) => string | undefined) =>
		done.flatMap((rows) => say(rows) ?? []);
	const all = [
		...words(
			({ table, refusal }) =>
				refusal &&
				`Rows of table ${table}, which no Run loads, can't be erased: ${refusal}`,
		),
		...words(
			({ table, untold = 0, isLoaded }) =>
				(untold > 0 || undefined) &&
				`${untold} rows of table ${table}${isLoaded ? " of earlier dates" : ", which no Run loads,"} can't be erased, since no column says which are meant: delete them yourself.`,
		),
		...words(
			({ table, detached: [first, ...others] = [] }) =>
				first &&
				`What was detached from table ${table} can't be erased: ${first}${others.length > 0 ? ` and ${others.length} more` : ""}. Drop it, or attach it and erase again.`,
		),
		...words(
			({ table, unblankable, rows }) =>
				unblankable &&
				`${rows} rows of table ${table} were erased as a whole, since column "${unblankable}" can't be blank.`,
		),
	];
	return all.length === 0
		? undefined
		: [...new Set(all)].join(" ").slice(0, maxLength);
}

async function eraseIn(
	access: RowAccess,
	table: Table,
	mode: ManifestErasure["mode"],
	{ conditions, untold }: Told,
): Promise<Pick<ErasedRows, "rows" | "untold" | "unblankable" | "detached">> {
	const { assignments, unblankable }: Blanking =
		mode === "RemoveRow" ? {} : blanking(table, access.dialect);
	let rows = 0;
	// There may be nothing to blank.
	for (const condition of assignments?.length === 0 ? [] : conditions)
		rows += await access.change(table.name, { condition, assignments });
	const left =
		untold === undefined ? 0 : await access.count(table.name, untold);
	const detached = (await access.detached?.(table)) ?? [];
	return {
		rows,
		...(left > 0 && { untold: left }),
		...(detached.length > 0 && { detached }),
		...(rows > 0 && unblankable !== undefined && { unblankable }),
	};
}

interface Blanking {
	/** What is set in a row that stays; empty for nothing, absent if it goes. */
	assignments?: readonly Assignment[];
	/** The column because of which it goes, since what the body said might stay. */
	unblankable?: string;
}

/** A row that stays keeps its ID, its time and its date. */
function blanking(table: Table, dialect: RowDialect): Blanking {
	const assignments: Assignment[] = [];
	for (const column of table.columns) {
		const from = sourceOf(table, column);
		if (from === "EventID" || from === "Timestamp" || from === "Date") continue;
		if (column.blank === undefined) return { unblankable: column.name };
		const value =
			from === "Body"
				? (dialect.blankBody?.(column.type) ?? dialect.text("null"))
				: column.blank;
		assignments.push({ column: dialect.name(column.name), value });
	}
	return { assignments };
}

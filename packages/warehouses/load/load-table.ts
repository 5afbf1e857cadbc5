import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import type { Logger } from "../../service/log.ts";
import type { LoadDay } from "./load-day.ts";
import type { DayFiles } from "./warehouse.ts";

/** What a Run puts into one table. */
export interface TableWork {
	input: LoadInput;
	manifest: Manifest;
	days: LoadDay[];
	/** Gets the days. */
	files: DayFiles;
}

/** What a load of a type of warehouse does to a table. {@link loadTable} has the order. */
export interface TableLoad<Plan, Scope = void> {
	/**
	 * Runs work that rests on what it finds: as far as the warehouse can, no other load changes the table meanwhile, and all or nothing
	 * of the work happens. Readers don't wait for it. Absent if it can't.
	 */
	locked?<T>(work: (scope: Scope) => Promise<T>): Promise<T>;
	/** Finds the table and decides. Throws what refuses the load, before anything changes. */
	plan(scope: Scope): Promise<Plan>;
	/** Gives the table its columns, their comments, and the mark that promises nothing of days that are about to change. */
	prepare(plan: Plan, scope: Scope): Promise<void>;
	/** Whether all the rest belongs to the work above; absent if nothing does. */
	isAtOnce?(plan: Plan): boolean;
	/** Puts the rows where nobody reads them yet. Absent if there is no such place. */
	stage?(plan: Plan): Promise<void>;
	/**
	 * Replaces days or adds to them, or puts another table in this one's place, each as a whole and with what is recorded of it.
	 * Throws if the table isn't this Pipeline's any more, or the rows that a day keeps aren't what they were.
	 * @param scope undefined if it isn't at once.
	 */
	publish(plan: Plan, scope?: Scope): Promise<void>;
	/** Lets the mark say what the table holds now, and cleans up the table. */
	finish(plan: Plan, scope?: Scope): Promise<void>;
	/** Takes away what is the load's own, also after a failure. */
	clear?(): Promise<void>;
	/** How many rows the table has on all dates; undefined if nobody can say. */
	count(plan: Plan): Promise<number | undefined>;
}

/**
 * Loads a table: the steps, in the order that keeps a promise wherever a process is killed. Each can be repeated. A load that was
 * refused has changed nothing; the mark promises less before the first row changes, and more only after the last one.
 * Returns how many rows the table has, and words for people about its views, which are logged.
 */
export async function loadTable<
	Plan extends { words?: string | undefined },
	Scope = void,
>(
	load: TableLoad<Plan, Scope>,
	table: string,
	log: Pick<Logger, "warn">,
): Promise<{ rows: number | undefined; words: string | undefined }> {
	const change = async (plan: Plan, scope?: Scope) => {
		try {
			await load.stage?.(plan);
			await load.publish(plan, scope);
			await load.finish(plan, scope);
		} finally {
			await load.clear?.();
		}
	};
	const begin = async (scope: Scope) => {
		const plan = await load.plan(scope);
		await load.prepare(plan, scope);
		if (load.isAtOnce?.(plan)) await change(plan, scope);
		return plan;
	};
	const plan = await (load.locked?.(begin) ?? begin(undefined as Scope));
	if (!load.isAtOnce?.(plan)) await change(plan);
	const { words } = plan;
	if (words !== undefined) log.warn({ table }, words);
	return { rows: await load.count(plan), words };
}

/** A load's progress, as fields of a log line. The REST API and the CLI read the last line that has them. */
export interface LoadProgress {
	daysDone: number;
	daysTotal: number;
	rowsDone: number;
	rowsTotal: number;
}

/**
 * @param days in load order.
 * @param rowsDone of all days together. A day is done when its last row is.
 */
export function progressOf(
	days: readonly { rows: number }[],
	rowsDone: number,
): LoadProgress {
	let [daysDone, rowsTotal] = [0, 0];
	for (const { rows } of days) {
		rowsTotal += rows;
		if (rowsTotal <= rowsDone) daysDone++;
	}
	return { daysDone, daysTotal: days.length, rowsDone, rowsTotal };
}

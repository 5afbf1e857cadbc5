import type {
	LostOfDate,
	ManifestDate,
} from "../../packages/contracts/manifest.ts";
import type { UtcDate } from "../../packages/contracts/utc-date.ts";
import { JobFailure } from "../../packages/warehouses/load/failure.ts";
import {
	addUnfit,
	type HeldDate,
	nameOf,
	rowsOf,
} from "../../packages/warehouses/load/load-day.ts";
import { follows, isOutput, readEarlyName } from "../wire/object-name.ts";
import { inputsAmong, type WantedDate } from "./addition.ts";
import type { DateAddition } from "./steps/step.ts";

/*
 * The table may be the last copy of events: a bucket loses an object, or is restored from an older copy. Only that makes a day
 * shrink here. Rows that an erasure, a filter or quarantine leaves out are rows of objects that are there, and what a warehouse deletes by
 * itself isn't in the table any more.
 */

/** What the tables that stand for one hold of a date. */
export interface DateInTables {
	/** By the tables' own records. */
	held: readonly HeldDate[];
	/** Counted now; absent if the records tell. */
	rows?: number;
}

/** What a date would lose if it were replaced. */
export interface Shrinkage {
	/** That the tables have. */
	rows: number;
	/** Of the date's objects, without any filter. */
	left: number;
	/** Names of objects that have gone, as far as a record tells. */
	gone: readonly string[];
	/** Rows that no object has, if their ids were compared. */
	lost?: number;
	/** The id of one of them, unless none has the form of Tidemill's. */
	example?: string;
	/** What is new, if that is certain: it may be inserted beside the rows that stay. */
	addition?: DateAddition;
}

/**
 * Undefined if no row of the date would be lost. Records name the objects that rows come from; where a compaction has hidden these, and
 * where there is no record, the numbers of rows tell.
 */
export function shrinkageOf(
	{ objects, steps = [] }: WantedDate,
	{ held, rows }: DateInTables,
): Shrinkage | undefined {
	const left = rowsOf(objects);
	const present = rowsOf(held);
	// A record that began after a date was loaded says nothing of it.
	const isUnrecorded = held.some(
		(date) => date.rows > 0 && date.loads.length === 0,
	);
	const counted = rows ?? (isUnrecorded ? present : undefined);
	const byCount =
		counted !== undefined && counted > left
			? { rows: counted, left, gone: [] }
			: undefined;
	if (present === 0) return byCount;
	const loads = held.flatMap((date) => date.loads);
	const named = new Set([
		...objects.map(nameOf),
		...steps.flatMap(({ deciding = [] }) => deciding),
	]);
	const recorded = new Set(loads.flatMap((load) => load.objects));
	let gone = loads
		.filter((load) => load.rows > 0)
		.flatMap((load) => load.objects)
		.filter((name) => name.endsWith(".parquet") && !named.has(name));
	gone = [...new Set(gone)].sort();
	const added = objects.filter((object) => {
		if (recorded.has(nameOf(object))) return false;
		const inputs = inputsAmong(gone, object);
		if (inputs) gone = gone.filter((name) => !inputs.includes(name));
		return !inputs;
	});
	const early = gone.filter((name) =>
		added.some((object) => isLater(object, name)),
	);
	gone = gone.filter((name) => !areIn(objects, name));
	const isHidden =
		gone.some(isOutput) || added.some(({ inputs }) => inputs !== undefined);
	if (gone.length === 0 || (isHidden && rowsOf(loads) <= left)) return byCount;
	const [date, ...others] = held;
	// Events that were imported again may be those of an object that is gone, and rows that were released since must leave a quarantine.
	const mayAdd =
		!isHidden &&
		!date!.isFilledOtherwise &&
		early.length === 0 &&
		others.length === 0 &&
		!added.some(({ released }) => released) &&
		steps.every(({ deciding = [] }) =>
			deciding.every((name) => recorded.has(name)),
		);
	const unfit = addUnfit(loads.map((load) => load.unfit));
	const kept = { rows: date!.rows, unfit, held: date! };
	const addition = { objects: added, kept };
	return { rows: present, left, gone, ...(mayAdd && { addition }) };
}

/** Whether objects of cuts have all events of an early one. */
function areIn(objects: WantedDate["objects"], name: string): boolean {
	const early = readEarlyName(name);
	return (
		early !== undefined &&
		rowsOf(objects.filter((object) => isLater(object, name))) >= early.rows
	);
}

function isLater(object: WantedDate["objects"][number], name: string): boolean {
	const early = readEarlyName(name);
	return early !== undefined && follows(nameOf(object), early);
}

/**
 * Whether all that the date would lose is lost by a person's word, and what is new is certain: then its rows stay, and the Run succeeds. The
 * bucket's loss is told in other places.
 */
export function isLossAccepted(
	{ addition, gone }: Shrinkage,
	lost: LostOfDate | undefined,
): boolean {
	if (!addition || !lost || gone.length === 0) return false;
	const names = new Set(lost.names);
	return gone.every((name) => names.has(name));
}

/** Of the dates that would lose rows: those that stay by a person's word, and those that fail the Run, such as all `staying` as they are. */
export function byPersonsWord(
	shrinking: readonly ShrinkingDay[],
	staying: readonly ShrinkingDay[],
	{ dates }: { dates: readonly Pick<ManifestDate, "date" | "lost">[] },
): { kept: ShrinkingDay[]; refused: ShrinkingDay[] } {
	const lostOn = new Map(dates.map(({ date, lost }) => [date, lost]));
	const kept = shrinking.filter(
		(day) =>
			!staying.includes(day) && isLossAccepted(day, lostOn.get(day.date)),
	);
	return { kept, refused: shrinking.filter((day) => !kept.includes(day)) };
}

/** The sentence of a Run whose dates lack events for good; undefined for none. */
export function lossWords(
	dates: readonly Pick<ManifestDate, "date" | "lost">[],
	kept: readonly Pick<ShrinkingDay, "date">[],
): string | undefined {
	const lacking = dates.flatMap(({ date, lost }) =>
		lost ? [{ date, ...lost }] : [],
	);
	if (lacking.length === 0) return undefined;
	const words = lacking
		.slice(-mostNamed)
		.map(({ date, rows }) => `${rows} of ${date}`);
	const more = lacking.length - words.length;
	const all = `${words.join(", ")}${more > 0 ? ` and of ${more} earlier dates` : ""}`;
	const days = new Set(kept.map(({ date }) => date)).size;
	const rows =
		days > 0
			? `. Rows that the table has of them stay, on ${days} ${days === 1 ? "date" : "dates"}`
			: "";
	return `Events that the bucket has lost for good are left out, which an administrator has accepted: ${all}${rows}.`;
}

/** A date of a table that isn't replaced. */
export interface ShrinkingDay extends Shrinkage {
	table: string;
	date: UtcDate;
}

const mostNamed = 5;

/**
 * What the Run says of the days, which are as they were but for what it has added.
 * @param isUnchanged Whether all other dates are, too; undefined if nobody knows.
 */
export function dayWouldShrink(
	days: readonly ShrinkingDay[],
	isUnchanged: boolean | undefined,
): JobFailure {
	const words = days
		.slice(0, mostNamed)
		.map(({ table, date, rows, left, lost, example, gone }) => {
			const [first, ...others] = gone;
			const more = others.length > 0 ? ` and ${others.length} more` : "";
			const such = example
				? `event ${example}`
				: "a row whose id isn't one of Tidemill's";
			const unheld = lost
				? `, which lack ${lost} of the table's, such as ${such}`
				: "";
			const missing =
				first === undefined
					? unheld
					: `, without ${first}${more} of the table's`;
			return `${date} (${rows} rows in table ${table}, ${left} in the bucket's objects${missing})`;
		});
	const more = days.length - mostNamed;
	const all = `${words.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
	const state = isUnchanged
		? "Nothing was loaded"
		: `These dates keep their rows${isUnchanged === false ? ", and all others are loaded" : ""}`;
	return new JobFailure(
		"DayWouldShrink",
		`Events are in the table that no object in the bucket has any more: ${all}. ${state}`,
	);
}

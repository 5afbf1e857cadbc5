import {
	maxUnfitColumns,
	maxUnfitExamples,
	type UnfitValues,
} from "../../packages/contracts/job.ts";
import type {
	KeptRows,
	LoadDay,
	UnfitRows,
} from "../../packages/warehouses/load/load-day.ts";
import type { JobSuccess } from "../job/process.ts";
import type { DownloadedDays } from "./day-files.ts";
import type { FoundColumns } from "./found-columns.ts";
import type { TablePlans } from "./load-days.ts";
import type { RejectedDays } from "./rejected-values.ts";
import type { WantedTable } from "./wanted-tables.ts";

/**
 * What a Job's result says of the days of the Run's table.
 * @param adds Whether the table says what it holds.
 */
export function resultOf(
	run: string,
	{ dates }: WantedTable,
	{ days, beside }: Pick<TablePlans, "days" | "beside">,
	adds: boolean,
): JobSuccess {
	const objects = days.flatMap((day) => day.objects);
	const [first, last] = [dates.at(0), dates.at(-1)];
	const isHeld = (day?: LoadDay) =>
		!day || (day.kept && addedRows(run, day) === 0);
	return {
		version: 1,
		outcome: "Succeeded",
		rows: dates.every(({ rows }) => rows !== undefined)
			? dates.reduce((sum, { rows = 0 }) => sum + rows, 0)
			: rowsIn(days),
		bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
		objects: objects.length,
		...(adds && {
			addedRows: days.reduce((sum, day) => sum + addedRows(run, day), 0),
			unchangedDates: days.filter((_, index) =>
				[days, ...beside].every((table) => isHeld(table[index])),
			).length,
		}),
		...(first && last && { dates: { start: first.date, end: last.date } }),
	};
}

/** That the days' table has afterwards. */
export function rowsIn(days: LoadDay[]): number {
	return days.reduce(
		(sum, { rows, kept }) => sum + rows + (kept?.rows ?? 0),
		0,
	);
}

/** For a Job's result: the columns with such values. */
export function unfitValues(count: UnfitRows): UnfitValues[] {
	return Object.entries(count)
		.map(([column, counted]) => ({ column, ...counted }))
		.filter(({ rows }) => rows > 0)
		.sort((a, b) => b.rows - a.rows)
		.slice(0, maxUnfitColumns)
		.map(({ eventID, ...counted }, index) =>
			eventID === undefined || index >= maxUnfitExamples
				? counted
				: { ...counted, eventID },
		);
}

/** How many rows of a day a Run inserts, or an earlier attempt of it that died before it could say so has. */
export function addedRows(
	run: string,
	{ rows, kept }: { rows: number; kept?: KeptRows },
): number {
	const { loads = [] } = kept?.held ?? {};
	return loads.reduce(
		(sum, load) => sum + (load.run === run ? load.rows : 0),
		rows,
	);
}

/** Every object is checked before the Destination is changed. */
export async function onDisk(
	{ days, beside, rejecting }: TablePlans,
	files: DownloadedDays,
	rejected: RejectedDays,
	columns: FoundColumns | undefined,
): Promise<TablePlans> {
	const others = (rejecting ?? []).filter(
		({ objects }, index) => objects !== days[index]!.objects,
	);
	const all = [...days, ...beside.flat(), ...others];
	const found = await files.all(all);
	const foundOf = (day: LoadDay) => found[all.indexOf(day)]!;
	if (columns)
		await files.with([], (_, session) =>
			columns.read(days.map(foundOf), session),
		);
	return {
		days: days.map(foundOf),
		// Of no date, the tables beside it get nothing.
		beside: days.length === 0 ? [] : beside.map((days) => days.map(foundOf)),
		...(rejecting && {
			rejecting: await rejected.made(
				rejecting.map((day, index) => {
					const own = others.includes(day) ? day : days[index]!;
					return { ...day, objects: foundOf(own).objects };
				}),
			),
		}),
	};
}

/** Only the objects themselves can tell how many rows some steps leave out, and which members bodies have. */
export async function sized(
	plans: TablePlans,
	files: DownloadedDays,
	columns: FoundColumns | undefined,
): Promise<TablePlans> {
	const size = async (days: LoadDay[], columns?: FoundColumns) => {
		const found: LoadDay[] = [];
		for (const day of days) {
			const isKnown = day.steps.every(
				({ keep, leavesOut }) => keep === undefined || leavesOut !== undefined,
			);
			if (day.objects.length === 0 || (isKnown && !columns)) {
				found.push(day);
				continue;
			}
			const rows = await files.with([day], async ([one], session) => {
				await columns?.read([one!], session);
				return one!.rows;
			});
			found.push(isKnown ? day : { ...day, rows });
		}
		return found;
	};
	const days = await size(plans.days, columns);
	const beside: LoadDay[][] = [];
	for (const days of plans.beside) beside.push(await size(days));
	return { days, beside };
}

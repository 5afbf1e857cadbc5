import type { LoadDay } from "../../packages/warehouses/load/load-day.ts";
import type { DownloadedDays } from "./day-files.ts";
import type { FoundColumns } from "./found-columns.ts";
import type { TablePlans } from "./load-days.ts";
import type { RejectedDays } from "./rejected-values.ts";

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

import { addDays } from "../../packages/contracts/utc-date.ts";

/** A Run as the REST API shows it, as much as the pages need. */
export interface RunView {
	name: string;
	pipeline: string;
	status: string;
	createTime: string;
	startTime?: string;
	completionTime?: string;
	trigger?: string;
	rows?: number;
	dates?: { start: string; end: string };
	[field: string]: unknown;
}

export interface CalendarDay {
	date: string;
	/** Whether it is of the month, and not of a week that the month shares. */
	isInMonth: boolean;
	runs: number;
	/** By status. */
	counts: Record<string, number>;
}

/** The weeks of a month (`2026-11`), from Monday, with the Runs that began on each UTC date. */
export function monthOf(
	month: string,
	runs: Iterable<Pick<RunView, "status" | "createTime">>,
): CalendarDay[][] {
	const first = `${month}-01`;
	const weekday = (new Date(first).getUTCDay() + 6) % 7;
	const byDate = new Map<string, Record<string, number>>();
	for (const { status, createTime } of runs) {
		const date = createTime.slice(0, 10);
		const counts = byDate.get(date) ?? {};
		counts[status] = (counts[status] ?? 0) + 1;
		byDate.set(date, counts);
	}
	const weeks: CalendarDay[][] = [];
	for (
		let monday = addDays(first, -weekday);
		monday.slice(0, 7) <= month;
		monday = addDays(monday, 7)
	)
		weeks.push(
			Array.from({ length: 7 }, (_, at) => {
				const date = addDays(monday, at);
				const counts = byDate.get(date) ?? {};
				return {
					date,
					isInMonth: date.startsWith(month),
					runs: Object.values(counts).reduce((a, b) => a + b, 0),
					counts,
				};
			}),
		);
	return weeks;
}

/** The month before or after. */
export function monthBeside(month: string, step: -1 | 1): string {
	const [year, number] = month.split("-").map(Number) as [number, number];
	return new Date(Date.UTC(year, number - 1 + step, 1))
		.toISOString()
		.slice(0, 7);
}

/** A month of an address; the current one for anything else. */
export function monthIn(text: string | undefined, now: number): string {
	return text !== undefined && /^\d{4}-(0[1-9]|1[0-2])$/.test(text)
		? text
		: new Date(now).toISOString().slice(0, 7);
}

/**
 * A UTC calendar date, `YYYY-MM-DD` (RFC 3339 full-date). Dates in this form sort as strings.
 * Tidemill has no local dates: an event belongs to the UTC date of its receipt.
 */
export type UtcDate = string;

export const dayMs = 86_400_000;

/** The UTC date of an instant (milliseconds since the epoch). */
export function utcDate(instantMs: number): UtcDate {
	return new Date(instantMs).toISOString().slice(0, 10);
}

/** The first instant of a UTC date, in milliseconds since the epoch. */
export function startOfDate(date: UtcDate): number {
	return Date.parse(`${date}T00:00:00.000Z`);
}

export function addDays(date: UtcDate, days: number): UtcDate {
	return utcDate(startOfDate(date) + days * dayMs);
}

/** Every date from first to last, inclusive; none when last is before first. */
export function datesBetween(first: UtcDate, last: UtcDate): UtcDate[] {
	const dates: UtcDate[] = [];
	for (let date = first; date <= last; date = addDays(date, 1))
		dates.push(date);
	return dates;
}

/**
 * The latest date that can gain no more events when every event received before `instantMs` is archived. A frame is
 * published at most 60 s after its oldest receipt; five minutes leave room for clocks that differ.
 */
export function closedThrough(instantMs: number): UtcDate {
	return utcDate(instantMs - 5 * 60_000 - dayMs);
}

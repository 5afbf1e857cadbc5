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

/**
 * How far the clocks of Tidemill's processes and NATS's may be apart. With a larger difference an event's date could be wrong, and what
 * was done by a clock of the future would count for ever.
 */
export const maxClockDifferenceMs = 30_000;

/** Whether an instant, in milliseconds since the epoch, can't have come yet: a clock was ahead that told it. NaN is none. */
export function isOfFuture(instantMs: number, nowMs: number): boolean {
	return instantMs > nowMs + maxClockDifferenceMs;
}

/**
 * Of two instants, RFC 3339 as `Date.toISOString` writes them, the later one; but the second if the first is of the future. So what
 * is kept of a clock that was ahead gives way to what the clock says once it is right.
 */
export function laterInstant(
	kept: string,
	next: string,
	nowMs: number,
): string {
	return next > kept || isOfFuture(Date.parse(kept), nowMs) ? next : kept;
}

/** How far an instant of another clock, RFC 3339, is from now, for people; undefined if it is near enough. */
export function clockFault(instant: string, nowMs: number): string | undefined {
	const aheadMs = Date.parse(instant) - nowMs;
	if (Math.abs(aheadMs) <= maxClockDifferenceMs) return undefined;
	const seconds = Math.round(Math.abs(aheadMs) / 1_000);
	return `${seconds} s ${aheadMs > 0 ? "ahead" : "behind"}`;
}

/** The store's clock and NATS's may differ so much: a store takes no request whose time is 15 minutes off its own. */
const clocksMs = 20 * 60_000;

/** A record with an earlier time by the store's clock is older than this instant by NATS's. */
export function earlierMs(since: string): number {
	return Date.parse(since) - clocksMs;
}

/**
 * Wall times of a time zone. A wall time is the instant, in milliseconds since the epoch, at which a UTC clock shows the
 * same, so that arithmetic and cron work on it as in UTC.
 */

/** What is said of a name that isn't one. */
export const zoneForm = "must be an IANA time zone, such as Europe/Berlin";

/** Of the IANA database. An offset such as `+02:00`, which `Intl` takes too, is none: it never changes its clocks. */
export function isTimeZone(name: string): boolean {
	if (/^[+-]/.test(name)) return false;
	try {
		formatterOf(name);
		// `Intl` has names of ICU's own, too, such as PST. Not every browser that shows a form has Temporal.
		if (typeof Temporal !== "undefined") new Temporal.ZonedDateTime(0n, name);
		return true;
	} catch {
		return false;
	}
}

export function wallTimeAt(instantMs: number, timeZone: string): number {
	const parts = formatterOf(timeZone).formatToParts(instantMs);
	const part = (type: Intl.DateTimeFormatPartTypes) =>
		Number(parts.find((other) => other.type === type)!.value);
	return (
		Date.UTC(
			part("year"),
			part("month") - 1,
			part("day"),
			part("hour"),
			part("minute"),
			part("second"),
		) +
		(((instantMs % 1000) + 1000) % 1000)
	);
}

/**
 * The instants at which clocks show this wall time for the first and the last time. They differ if the clocks go back over
 * it. A wall time that the clocks skip becomes the first instant after the gap.
 */
export function instantsOfWallTime(
	wallMs: number,
	timeZone: string,
): { first: number; last: number } {
	const offsetAt = (instantMs: number) =>
		wallTimeAt(instantMs, timeZone) - instantMs;
	// No time zone changes its clocks twice in two days.
	const before = offsetAt(wallMs - dayMs);
	const after = offsetAt(wallMs + dayMs);
	const early = wallMs - before;
	const late = wallMs - after;
	const isLate = offsetAt(late) === after;
	if (offsetAt(early) === before)
		return { first: early, last: isLate ? late : early };
	if (isLate) return { first: late, last: late };
	// The clocks skip this wall time. They jump between the two instants.
	let [low, high] = [late, early];
	while (high - low > 1) {
		const middle = Math.floor((low + high) / 2);
		if (offsetAt(middle) === before) low = middle;
		else high = middle;
	}
	return { first: high, last: high };
}

/** By how much the clocks go back within a day after the instant; 0 if they don't. */
export function goesBackMs(instantMs: number, timeZone: string): number {
	const offsetAt = (instantMs: number) =>
		wallTimeAt(instantMs, timeZone) - instantMs;
	return Math.max(0, offsetAt(instantMs) - offsetAt(instantMs + dayMs));
}

const dayMs = 86_400_000;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Cached: making a formatter costs a hundred times more than using it. Throws RangeError for an unknown time zone. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
	let formatter = formatters.get(timeZone);
	if (!formatter) {
		formatter = new Intl.DateTimeFormat("en-US", {
			timeZone,
			hourCycle: "h23",
			year: "numeric",
			month: "numeric",
			day: "numeric",
			hour: "numeric",
			minute: "numeric",
			second: "numeric",
		});
		formatters.set(timeZone, formatter);
	}
	return formatter;
}

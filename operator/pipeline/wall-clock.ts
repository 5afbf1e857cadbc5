/**
 * Wall times of a time zone. A wall time is the instant, in milliseconds since the epoch, at which a UTC clock shows the
 * same, so that arithmetic and cron work on it as in UTC.
 */

export function isTimeZone(name: string): boolean {
	try {
		formatterOf(name);
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
 * The first instant at which clocks show this wall time. A wall time that the clocks skip becomes the first instant after
 * the gap; one that occurs twice becomes its first occurrence.
 */
export function instantOfWallTime(wallMs: number, timeZone: string): number {
	const offsetAt = (instantMs: number) =>
		wallTimeAt(instantMs, timeZone) - instantMs;
	// No time zone changes its clocks twice in two days.
	const before = offsetAt(wallMs - dayMs);
	const after = offsetAt(wallMs + dayMs);
	const early = wallMs - before;
	if (offsetAt(early) === before) return early;
	const late = wallMs - after;
	if (offsetAt(late) === after) return late;
	// The clocks skip this wall time. They jump between the two instants.
	let [low, high] = [late, early];
	while (high - low > 1) {
		const middle = Math.floor((low + high) / 2);
		if (offsetAt(middle) === before) low = middle;
		else high = middle;
	}
	return high;
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

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

/** How far a load is, as its log says it; the REST API and the CLI read the last line of the log that has these. */
export interface LoadProgress {
	daysDone: number;
	daysTotal: number;
	rowsDone: number;
	rowsTotal: number;
}

/**
 * @param days in the order in which they are loaded.
 * @param rowsDone of all of them; a day is done when its last row is.
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

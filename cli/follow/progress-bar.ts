import type { Progress } from "../../api/runs/logs.ts";

/** One line with the progress of a run, at most `columns` wide. */
export function progressBar(
	phase: string,
	progress: Progress | undefined,
	columns: number,
): string {
	if (!progress) return phase.slice(0, columns);
	const { daysDone, daysTotal, rowsDone, rowsTotal } = progress;
	const label = ` ${daysDone} of ${count(daysTotal, "day")}, ${figure(rowsDone)} of ${count(rowsTotal, "row")}`;
	const width = Math.min(40, columns - label.length - 2);
	if (width < 5) return label.trim().slice(0, columns);
	// Rows measure the work, but a run may have none.
	const done = rowsTotal > 0 ? rowsDone / rowsTotal : daysDone / daysTotal;
	const filled = Math.round(width * Math.min(1, done || 0));
	return `[${"█".repeat(filled)}${"░".repeat(width - filled)}]${label}`;
}

function count(number: number, noun: string): string {
	return `${figure(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function figure(number: number): string {
	return number.toLocaleString("en");
}

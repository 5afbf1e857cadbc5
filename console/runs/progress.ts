export interface RunCounts {
	status?: string;
	daysDone?: number;
	daysTotal?: number;
	rowsDone?: number;
	rowsTotal?: number;
}

/** How much of a Run is done, from 0 to 1; undefined as long as nobody knows. */
export function shareDone({
	status,
	rowsDone,
	rowsTotal,
	daysDone,
	daysTotal,
}: RunCounts): number | undefined {
	if (status === "Succeeded") return 1;
	const share = (done?: number, total?: number) =>
		done !== undefined && total !== undefined && total > 0
			? Math.min(1, Math.max(0, done / total))
			: undefined;
	return share(rowsDone, rowsTotal) ?? share(daysDone, daysTotal);
}

export function hasEnded(run: { completionTime?: unknown }): boolean {
	return run.completionTime !== undefined;
}

/** How long something took or has taken, in the two largest units. */
export function durationText(ms: number): string {
	const seconds = Math.max(0, Math.round(ms / 1_000));
	const units: [number, string][] = [
		[Math.floor(seconds / 86_400), "d"],
		[Math.floor(seconds / 3_600) % 24, "h"],
		[Math.floor(seconds / 60) % 60, "min"],
		[seconds % 60, "s"],
	];
	const first = units.findIndex(([count]) => count > 0);
	return first === -1
		? "0 s"
		: units
				.slice(first, first + 2)
				.filter(([count]) => count > 0)
				.map(([count, unit]) => `${count} ${unit}`)
				.join(" ");
}

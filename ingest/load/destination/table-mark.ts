import type { Manifest } from "../../../contracts/manifest.ts";
import { addDays, type UtcDate } from "../../../contracts/utc-date.ts";

/**
 * What loads leave on a table, beside its rows. A table without the mark isn't one that loads have filled: it was dropped,
 * restored, or made by somebody else.
 */
export interface TableMark {
	/** Uid of the Run that wrote last. */
	run: string;
	/** The snapshot time of that Run's manifest, in milliseconds since the epoch. */
	snapshotMs: number;
	/** Names what the Destination has recorded about the table's rows; absent if nothing (see duckdb/load-record.ts). */
	record?: string;
	/** Absent until a load of the whole window is complete. */
	holds?: {
		sourceKey: string;
		/** The table lacks no event of the Source through this date, from the beginning of the window on. */
		through: UtcDate;
	};
}

/**
 * Whose the table is, as a Run sees it. `theirs`: a Run with a later snapshot wrote to it, so a Run that was paused meanwhile
 * must not bring back older data.
 */
export function ownershipOf(
	mark: TableMark | undefined,
	{ run, snapshotTime }: Manifest,
): "ours" | "free" | "theirs" {
	if (!mark) return "free";
	if (mark.run === run) return "ours";
	return mark.snapshotMs > Date.parse(snapshotTime) ? "theirs" : "free";
}

/**
 * Why the manifest's days are not enough for a table with this mark, in words that follow "Table x "; undefined if they are.
 * @param mark undefined for a table that the load would have to make.
 */
export function missingDays(
	mark: TableMark | undefined,
	{ asked, sourceKey }: Manifest,
): string | undefined {
	if (asked.extent === "Whole") return undefined;
	if (mark?.holds?.sourceKey !== sourceKey)
		return "has not been loaded completely from this Source";
	if (asked.extent === "Chosen") return undefined;
	const { through } = mark.holds;
	const needed = earlier(addDays(asked.start!, -1), asked.end);
	return through < needed
		? `is complete through ${through} only, and the Run loads from ${asked.start} on`
		: undefined;
}

/** The mark while the load writes. It promises nothing that isn't true if the load ends half-way. */
export function markDuring(
	before: TableMark | undefined,
	manifest: Manifest,
): TableMark {
	return {
		run: manifest.run,
		snapshotMs: Date.parse(manifest.snapshotTime),
		// The whole window may be another Source's.
		...(manifest.asked.extent !== "Whole" &&
			before?.holds && { holds: before.holds }),
	};
}

/** The mark when all days of the manifest are in the table. */
export function markAfter(
	before: TableMark | undefined,
	manifest: Manifest,
): TableMark {
	const { asked, sourceKey, closedThrough } = manifest;
	const during = markDuring(before, manifest);
	if (asked.extent === "Chosen") return during;
	const loaded = earlier(closedThrough, asked.end);
	const through = [loaded, during.holds?.through ?? loaded].toSorted().at(-1)!;
	return { ...during, holds: { sourceKey, through } };
}

function earlier(date: UtcDate, other: UtcDate | undefined): UtcDate {
	return other !== undefined && other < date ? other : date;
}

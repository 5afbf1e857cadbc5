import { isOfFuture } from "../../contracts/clocks.ts";
import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { addDays, type UtcDate } from "../../contracts/utc-date.ts";
import { JobFailure } from "./failure.ts";

/**
 * What loads leave on a table, beside its rows. A table without the mark isn't one that loads have filled: it was dropped,
 * restored, or made by somebody else.
 */
export interface TableMark {
	/** Uid of the Run that wrote last. */
	run: string;
	/** Its name, for people who look at the table. A mark that is kept in labels lacks it, since they can't hold any name. */
	runName?: string;
	/** The snapshot time of that Run's manifest, in milliseconds since the epoch. */
	snapshotMs: number;
	/** The Pipeline that loads the table, `<namespace>/<name>`. Marks of early builds lack it. */
	pipeline?: string;
	/** Of the Source that the Pipeline loads into it, also before `holds` says so. Marks of early builds lack it. */
	sourceKey?: string;
	/** Names what the Destination has recorded about the table's rows; absent if nothing (see load-record.ts). */
	record?: string;
	/** Absent until a load of the whole window is complete. */
	holds?: {
		sourceKey: string;
		/** The table lacks no event of the Source through this date, from the beginning of the window on. */
		through: UtcDate;
	};
}

/** A Pipeline as marks name it: wherever it is applied again, it is the same. */
export function pipelineOf({ run }: Pick<LoadInput, "run">): string {
	return `${run.account}/${run.pipeline}`;
}

/**
 * What a load may believe of a mark. One of the future was left while NATS's clock was ahead: it would refuse every Run until
 * then, and says that the table holds days which are to come. When that time has come nothing tells it from others, so a Run
 * that loads the whole window because a person says so (`full`) isn't refused by any.
 */
export function believed(
	mark: TableMark | undefined,
	{ full }: Pick<LoadInput, "full">,
	nowMs = Date.now(),
): TableMark | undefined {
	if (!mark) return undefined;
	const isAhead = isOfFuture(mark.snapshotMs, nowMs);
	if (!isAhead && !full) return mark;
	const { holds, record, ...kept } = mark;
	return {
		...kept,
		snapshotMs: 0,
		...(!isAhead && { ...(holds && { holds }), ...(record && { record }) }),
	};
}

/**
 * Whether a Run with a later snapshot wrote to the table, so that a Run that was paused meanwhile must not bring back older
 * data.
 */
export function isSuperseded(
	mark: TableMark | undefined,
	{ run, snapshotTime }: Manifest,
): mark is TableMark {
	return (
		mark !== undefined &&
		mark.run !== run &&
		mark.snapshotMs > Date.parse(snapshotTime)
	);
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
	if (asked.since !== undefined && mark.snapshotMs < Date.parse(asked.since))
		return "was restored: the last successful Run isn't in it";
	const { through } = mark.holds;
	const needed = earlier(addDays(asked.start!, -1), asked.end);
	return through < needed
		? `is complete through ${through} only, and the Run loads from ${asked.start} on`
		: undefined;
}

/** Throws TableIncomplete if the table would lack days after a load: see {@link missingDays}. */
export function requireComplete(
	table: string,
	mark: TableMark | undefined,
	manifest: Manifest,
): void {
	const missing = missingDays(mark, manifest);
	if (missing !== undefined)
		throw new JobFailure("TableIncomplete", `Table ${table} ${missing}`);
}

/**
 * The mark while the load writes. It promises nothing that isn't true if the load ends half-way.
 * @param pipeline That loads: {@link pipelineOf}.
 */
export function markDuring(
	before: TableMark | undefined,
	manifest: Manifest,
	pipeline: string,
): TableMark {
	return {
		run: manifest.run,
		snapshotMs: Date.parse(manifest.snapshotTime),
		pipeline,
		sourceKey: manifest.sourceKey,
		// The whole window may be another Source's.
		...(manifest.asked.extent !== "Whole" &&
			before?.holds && { holds: before.holds }),
	};
}

/** The mark when all days of the manifest are in the table. */
export function markAfter(
	before: TableMark | undefined,
	manifest: Manifest,
	pipeline: string,
): TableMark {
	const { asked, sourceKey, closedThrough } = manifest;
	const during = markDuring(before, manifest, pipeline);
	if (asked.extent === "Chosen") return during;
	const loaded = earlier(closedThrough, asked.end);
	const through = [loaded, during.holds?.through ?? loaded].toSorted().at(-1)!;
	return { ...during, holds: { sourceKey, through } };
}

function earlier(date: UtcDate, other: UtcDate | undefined): UtcDate {
	return other !== undefined && other < date ? other : date;
}

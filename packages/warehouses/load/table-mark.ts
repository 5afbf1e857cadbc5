import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { addDays, isOfFuture, type UtcDate } from "../../contracts/utc-date.ts";
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
	/** Names what the Destination has recorded about the table's rows; absent if nothing (see table-plan.ts). */
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
 * that loads the whole window because a person says so (`full`) isn't refused by any. The record goes by no clock: it names the
 * objects that rows come from, and without it no Run would miss those that the bucket has lost.
 */
export function believed(
	mark: TableMark | undefined,
	{ full }: Pick<LoadInput, "full">,
	nowMs = Date.now(),
): TableMark | undefined {
	if (!mark) return undefined;
	const isAhead = isOfFuture(mark.snapshotMs, nowMs);
	if (!isAhead && !full) return mark;
	const { holds, ...kept } = mark;
	return { ...kept, snapshotMs: 0, ...(!isAhead && holds && { holds }) };
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

/** What a load finds under the name of its table. */
export interface FoundTable {
	/** Undefined if the table has none, or isn't a table. */
	mark: TableMark | undefined;
	/** What it is instead of a table, such as `VIEW`. */
	otherKind?: string | undefined;
	/** Whether it certainly has no rows. */
	isEmpty: boolean;
	/** Why it can't take the load, in words that follow "Table x is incompatible: "; undefined if it can. */
	incompatibility: string | undefined;
}

/** What a load may do with the table that it found. */
export interface TableUse {
	/** Drop it and create it again, instead of loading into it as it is. */
	replaces: boolean;
	/** What the rows that stay are known to hold; undefined for nothing. */
	mark: TableMark | undefined;
}

/**
 * Decides what a load may do with the table that it found, before it changes anything. A table is the Pipeline's if its mark
 * says so. Any other is used in two cases only: `adopt` says so; or it has no mark and no rows, and fits as it is, since
 * people who manage tables by Terraform create them so. Nothing is lost then, and the Pipeline that marks it first has it.
 * A marked table is another Pipeline's even without rows: its Source may be waiting for its first event.
 *
 * Throws {@link JobFailure} TableNotOurs, without a word about whose it is; Superseded if a later Run has loaded it;
 * TableIncompatible if it can't take the load, or is the Pipeline's own with another Source's rows, and must not be rebuilt.
 */
export function useOf(
	input: LoadInput,
	manifest: Manifest,
	{ mark: found, otherKind, isEmpty, incompatibility }: FoundTable,
): TableUse {
	const { name } = input.table;
	const mark = believed(found, input);
	const owner = ownerOf(mark, input, manifest);
	const isUnused = !mark && isEmpty && incompatibility === undefined;
	const why = whyNot({ mark, otherKind, isEmpty }, manifest);
	if (owner === "Other" && !input.adopt && !isUnused)
		throw notOurs(name, why, input, incompatibility);
	if (isSuperseded(mark, manifest))
		throw new JobFailure(
			"Superseded",
			owner === "Other"
				? `Runs of another Pipeline have loaded table ${name}, and their snapshot is later`
				: `Table ${name} has the data of Run uid ${mark.run}, whose snapshot is later`,
		);
	const holdsOthers = owner === "OursOfOtherSource" && !isEmpty;
	if (holdsOthers && !input.adopt) {
		if (!input.rebuild)
			throw new JobFailure(
				"TableIncompatible",
				`Table ${name} is incompatible: ${why}, and one table has the events of one Source. Set spec.sourceRef back; or drop the table, and start a Run`,
			);
		return { replaces: true, mark: undefined };
	}
	if (incompatibility !== undefined && !input.rebuild)
		throw new JobFailure(
			"TableIncompatible",
			`Table ${name} is incompatible: ${incompatibility}`,
		);
	const replaces = incompatibility !== undefined;
	return { replaces, mark: replaces || owner !== "Ours" ? undefined : mark };
}

/** Throws {@link JobFailure} TableNotOurs for a name of the tables in which Tidemill keeps what it knows, whatever is there. */
export function requireFreeName(table: string): void {
	if (/^_tidemill/i.test(table))
		throw new JobFailure(
			"TableNotOurs",
			`Names of Tidemill's own tables begin with _tidemill, so no Pipeline loads into ${table}, also not by table.adopt`,
		);
}

/** Whose the table is. A mark of an early build names no Pipeline, so its source key decides, which no other account has. */
export function ownerOf(
	mark: TableMark | undefined,
	input: Pick<LoadInput, "run">,
	{ run, sourceKey }: Pick<Manifest, "run" | "sourceKey">,
): "Ours" | "OursOfOtherSource" | "Other" {
	if (!mark) return "Other";
	const isNamed = mark.pipeline !== undefined;
	if (isNamed && mark.pipeline !== pipelineOf(input)) return "Other";
	const filledFrom = sourceKeyOf(mark);
	if (filledFrom === sourceKey) return "Ours";
	// This Run may have marked the table to drop it, and been killed before it did.
	if (isNamed) return filledFrom === undefined ? "Ours" : "OursOfOtherSource";
	return mark.run === run ? "Ours" : "Other";
}

export function sourceKeyOf({
	sourceKey,
	holds,
}: TableMark): string | undefined {
	return sourceKey ?? holds?.sourceKey;
}

function whyNot(
	{ mark, otherKind, isEmpty }: Omit<FoundTable, "incompatibility">,
	{ sourceKey }: Manifest,
): string {
	if (otherKind !== undefined) return `it is a ${otherKind}`;
	if (!mark)
		return isEmpty ? "no Run has marked it" : "it has rows that no Run marked";
	const filledFrom = sourceKeyOf(mark) ?? sourceKey;
	return isEmpty || filledFrom === sourceKey
		? "another Pipeline has marked it"
		: "it holds the events of another Source";
}

/** Says what `adopt` would replace, so that nobody has to find out. */
function notOurs(
	name: string,
	why: string,
	{ strategy }: Pick<LoadInput, "strategy">,
	incompatibility?: string,
): JobFailure {
	const replaced =
		strategy === "FullReload"
			? "each Run would replace all its rows"
			: "Runs would replace all rows of each day that they load, also of days without events, and keep the rows of other days";
	const because = incompatibility === why ? "" : `, because ${incompatibility}`;
	const adopted =
		incompatibility === undefined
			? `With table.adopt: true, ${replaced}`
			: `With table.adopt: true and table.onIncompatible: Rebuild, a Run would drop it and create it again${because}`;
	return new JobFailure(
		"TableNotOurs",
		`Table ${name} is not this Pipeline's, so it is left as it is: ${why}. ${adopted}`,
	);
}

import type { LoadInput } from "../../contracts/job.ts";
import type { Manifest } from "../../contracts/manifest.ts";
import { JobFailure } from "./failure.ts";
import {
	believed,
	isSuperseded,
	pipelineOf,
	type TableMark,
} from "./table-mark.ts";

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

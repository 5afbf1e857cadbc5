import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { unfitColumns, unfitText } from "../../crds/unfit-values.ts";
import type { FindingsOf } from "../reconcile/reasons.ts";

/** Type of the condition that says whether the values of bodies fit their columns. */
export const valuesFit = "ValuesFit";

/** Whether a Run says how values fit: one that loaded no row doesn't. */
export function saysHowValuesFit({ status }: Run): boolean {
	return status?.phase === "Succeeded" && (status.rows ?? 0) > 0;
}

export function hasBodyColumns({ spec: { table } }: Pipeline): boolean {
	return (table.bodyColumns?.length ?? 0) > 0 || table.schema === "Evolve";
}

/** By the latest Run since the status was written that says it; nothing without columns from the body. */
export function valuesFindingOf(
	pipeline: Pipeline,
	runs: readonly Run[],
): FindingsOf<"Pipeline">["ValuesFit"] {
	if (!hasBodyColumns(pipeline)) return undefined;
	const since = pipeline.status?.lastRun?.completionTime ?? "";
	const latest = runs
		.filter((run) => hasEnded(run) && saysHowValuesFit(run))
		.filter(({ status }) => status!.completionTime! >= since)
		.toSorted((a, b) =>
			a.status!.completionTime! < b.status!.completionTime! ? 1 : -1,
		)[0];
	if (!latest) return "as before";
	const { name } = latest.metadata;
	const unfit = unfitColumns(latest.status!);
	if (unfit.length > 0)
		return {
			status: "False",
			reason: "Unfit",
			message: `${unfitText(unfit)} See status.unfitValues of Run "${name}". Correct the column's type or format, or what is sent, and load the dates again.`,
		};
	const few = latest.status!.unfitValues?.length ?? 0;
	return {
		status: "True",
		reason: "Fit",
		message:
			few === 0
				? `The values of Run "${name}" fit their columns.`
				: `Nearly all values of Run "${name}" fit their columns. Its status.unfitValues counts the others.`,
	};
}

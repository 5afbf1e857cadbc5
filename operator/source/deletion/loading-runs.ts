import type { Run } from "../../../crds/generated/types.ts";
import { hasEnded } from "../../../crds/run.ts";

/**
 * Names of the Runs whose Job loads events of the Source, or may, whatever their Pipelines refer to by now: a Job keeps what
 * it began with, also while its Pod waits.
 */
export function loadingRuns(
	runs: Run[],
	sourceKey: string | undefined,
): string[] {
	if (sourceKey === undefined) return [];
	return runs
		.filter(
			(run) =>
				run.status?.layout?.sourceKey === sourceKey &&
				mayHaveJob(run) &&
				!hasEnded(run),
		)
		.map(({ metadata }) => metadata.name)
		.sort();
}

/** From the status that is written before the Job is created. Without a Job, a Run whose Source is being deleted gets none. */
function mayHaveJob({ status }: Run): boolean {
	return status?.phase === "Running" || status?.attempts !== undefined;
}

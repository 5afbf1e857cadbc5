import type { Pipeline } from "../../crds/generated/types.ts";
import { pausesScheduleOnly } from "../../crds/run.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { RequestError } from "../http/errors.ts";

/**
 * Throws a 409 if a new Run of the Pipeline would wait for a person. Not while the operator has still to judge the Pipeline
 * or what it refers to: that takes seconds.
 */
export function requireReady({ metadata, status }: Pipeline): void {
	const ready = findCondition(status?.conditions, "Ready");
	const isJudged = ready?.observedGeneration === metadata.generation;
	if (ready?.status !== "False" || !isJudged) return;
	if (pausesScheduleOnly.has(ready.reason)) return;
	throw new RequestError(
		"PipelineNotReady",
		`The pipeline "${metadata.name}" can't run (${ready.reason}): ${ready.message} Correct that first, or start the run with ?queue=true: it then waits.`,
	);
}

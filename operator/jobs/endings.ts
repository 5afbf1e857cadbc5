import type { JobError } from "../../packages/contracts/job.ts";

/**
 * How a Job can end without a result of its process. docs/reference/conditions.md is generated from this table.
 * A code is Kubernetes' own word where there is one.
 */
export const jobEndings = {
	DeadlineExceeded:
		"The Job ran out of time. Remove what it waited for, or raise the Pipeline's spec.runTemplate.activeDeadlineSeconds.",
	OOMKilled:
		"The process exceeded its memory limit. Raise the memory in the Pipeline's spec.runTemplate.resources.",
	Evicted:
		"The node ran short of resources. Request what the Pod needs in the Pipeline's spec.runTemplate.resources.",
	PodLost:
		"The node of the Job's Pod is down or cut off, and the Pod may still write. Do what the message says, then start a new Run.",
	JobDeleted: "Somebody deleted the Job. Start a new Run.",
	ResultMissing:
		"The process left no readable result, so it is unknown what it loaded. Start a new Run. If that ends the same way, make sure that operator and Jobs have the same version.",
} as const;

export type JobEnding = keyof typeof jobEndings;

/** @param facts What is known, as sentences or in Kubernetes' words. Undefined and empty ones are dropped. */
export function endedAs(
	code: JobEnding,
	...facts: (string | undefined)[]
): JobError {
	return unexplained(code, jobEndings[code], ...facts);
}

/** An ending that the table lacks, under Kubernetes' word for it. */
export function unexplained(
	code: string,
	...facts: (string | undefined)[]
): JobError {
	const message = facts
		.filter((fact) => fact !== undefined && fact !== "")
		.map((fact) => fact!.replace(/[.\s]*$/, "."))
		.join(" ");
	return { code, message: message.slice(0, 2048), retryable: true };
}

import type { JobError } from "../../contracts/job.ts";

/**
 * How a Job can end without a word of its process. docs/reference/conditions.md says the same to people; a test holds
 * the two together. Where Kubernetes has a word for it, the code is that word.
 */
export const jobEndings = {
	DeadlineExceeded:
		"It took longer than it may. Remove what it waited for, or raise the Pipeline's spec.runTemplate.activeDeadlineSeconds.",
	OOMKilled:
		"The process took more memory than it may. Raise the memory in the Pipeline's spec.runTemplate.resources.",
	Evicted:
		"The node needed the room. Give the Pod what it needs by the requests in the Pipeline's spec.runTemplate.resources.",
	JobDeleted: "Somebody deleted the Job. Start a new Run.",
	ResultMissing:
		"The process left no result that can be read, so it is not known what it loaded. Start a new Run; if that does the same, run operator and Jobs in the same version.",
} as const;

export type JobEnding = keyof typeof jobEndings;

/** @param facts what is known of it, as sentences or in Kubernetes' words; what is undefined or empty is left out. */
export function endedAs(
	code: JobEnding,
	...facts: (string | undefined)[]
): JobError {
	return unexplained(code, jobEndings[code], ...facts);
}

/** An ending that Kubernetes has a word for and this table has not. */
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

import { type Operation, operationKind } from "../../crds/generated/types.ts";
import { label, managedByTidemill } from "../../crds/labels.ts";
import type { OperationInput } from "../../packages/contracts/operation.ts";
import { type JobWithInput, jobWithInput } from "../jobs/template.ts";

/** At most 62 characters, as an Operation's name has at most 52. A Run's Job has the Run's name. */
export function operationJobName(operation: string): string {
	return `${operation}-operation`;
}

export function operationInputName(operation: string): string {
	return `${operationJobName(operation)}-input`;
}

/** The Job that carries out an Operation, and its input. */
export function operationJob(
	operation: Operation,
	input: OperationInput,
	options: { image: string; activeDeadlineSeconds: number },
): JobWithInput {
	const { name } = operation.metadata;
	const {
		retries,
		activeDeadlineSeconds: _,
		...pod
	} = operation.spec.jobTemplate;
	return jobWithInput(
		{
			kind: operationKind,
			owner: operation,
			jobName: operationJobName(name),
			secretName: operationInputName(name),
			labels: { ...managedByTidemill, [label.operation]: name },
		},
		input,
		{ command: "operation", pod, retries, ...options },
	);
}

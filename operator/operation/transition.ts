import type { ManifestRequest } from "../../contracts/manifest.ts";
import type { ReleaseRequest } from "../../contracts/release.ts";
import type { ImportRequest } from "../../contracts/stored/import.ts";
import type {
	Operation,
	OperationError,
	OperationStatus,
} from "../../crds/generated/types.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import {
	type Finding,
	failedFindings,
	statusWith,
} from "../job/work-status.ts";
import { type WorkAction, workSteps } from "../job/work-steps.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { KubeEventReason, Reason } from "../reconcile/reasons.ts";

/** What is done about an Operation. */
export type OperationAction =
	/** `decideStart` goes on with the answer. */
	| { type: "askManifest"; question: ManifestRequest; shard: number }
	/** Archive does the work of a Release. `decideReleased` goes on with the answer. */
	| { type: "askRelease"; question: ReleaseRequest; shard: number }
	/** Archive adds what the Job of an Import has left. `decideImported` goes on with the answer. */
	| { type: "askImport"; question: ImportRequest; shard: number }
	| WorkAction
	/** An Operation that has ended: this one or another one of its Source. */
	| { type: "delete"; operation: Operation }
	| CommonAction<Operation, KubeEventReason<"Operation">>;

export type WaitReason = Reason<"Operation", "Complete">;

/** How an Operation's status changes. The status is written before the Job with its result goes. */
export const transition = {
	/** The Operation waits or works: `facts` has the phase. */
	progress(
		operation: Operation,
		reason: WaitReason,
		message: string,
		facts: OperationStatus,
		now: number,
	): OperationAction[] {
		const finding = { type: "Complete", status: "False", reason, message };
		return [writeStatus(operation, facts, [finding as Finding], now)];
	},

	succeed(
		operation: Operation,
		facts: OperationStatus & { summary: string },
		now: number,
	): OperationAction[] {
		const reason = "Succeeded" satisfies WaitReason;
		const message = facts.summary;
		return [
			writeStatus(
				operation,
				{ phase: "Succeeded", ...facts },
				[{ type: "Complete", status: "True", reason, message }],
				now,
			),
			tell("Normal", "OperationSucceeded", message),
			{ type: "removeJob" },
		];
	},

	fail(
		operation: Operation,
		reason: Reason<"Operation", "Failed">,
		error: OperationError,
		facts: OperationStatus,
		now: number,
	): OperationAction[] {
		const { code, message } = error;
		return [
			writeStatus(
				operation,
				{ phase: "Failed", completionTime: rfc3339(now), error, ...facts },
				ended("Failed", reason, message),
				now,
			),
			tell("Warning", "OperationFailed", `${code}: ${message}`),
			{ type: "removeJob" },
		];
	},

	cancel(
		operation: Operation,
		facts: OperationStatus,
		now: number,
	): OperationAction[] {
		const message = "The Operation was cancelled by spec.cancel.";
		return [
			writeStatus(
				operation,
				{ phase: "Cancelled", completionTime: rfc3339(now), ...facts },
				ended("Cancelled", "Cancelled", message),
				now,
			),
			tell("Normal", "OperationCancelled", message),
			{ type: "removeJob" },
		];
	},
};

export function tell(
	severity: "Normal" | "Warning",
	reason: KubeEventReason<"Operation">,
	message: string,
): OperationAction {
	return { type: "recordKubeEvent", severity, reason, message };
}

export const steps = workSteps<Operation, OperationAction, "Working">({
	noun: "Operation",
	working: "Working",
	transition,
	tell,
});

/** When the time of an Operation is over, all attempts together. */
export function deadlineMs({ spec }: Operation, startTime: string): number {
	const { activeDeadlineSeconds } = spec.jobTemplate;
	return Date.parse(startTime) + activeDeadlineSeconds * 1000;
}

const ended: (
	complete: WaitReason,
	failed: Reason<"Operation", "Failed">,
	message: string,
) => Finding[] = failedFindings;

function writeStatus(
	operation: Operation,
	facts: OperationStatus,
	findings: Finding[],
	now: number,
): OperationAction {
	const status = statusWith(operation, facts, findings, now);
	return { type: "writeStatus", status };
}

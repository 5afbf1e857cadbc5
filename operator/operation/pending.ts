import type { Operation } from "../../crds/generated/types.ts";
import { findCondition } from "../../kube/conditions.ts";
import type { OperationErrorCode } from "./errors.ts";
import {
	type OperationAction,
	transition,
	type WaitReason,
} from "./transition.ts";

/** What a person or the cluster must change. It may stay as it is for ever, so the time is limited. */
const limited: ReadonlySet<string> = new Set<WaitReason>([
	"SourceNotFound",
	"SourceNotReady",
	"PlanNotFound",
	"PlanNotReady",
	"AnnotationNotAllowed",
	"PriorityClassNotAllowed",
	"JobNotStarted",
	"NotPermitted",
]);

const patienceMs = 3_600_000;

/**
 * The actions, with a limit to the time that an Operation without a Job waits for a person or the cluster. It counts from
 * the Operation's creation.
 */
export function limitPending(
	operation: Operation,
	actions: OperationAction[],
	now: number,
): OperationAction[] {
	const written = actions.find(({ type }) => type === "writeStatus");
	if (written?.type !== "writeStatus") return actions;
	const { reason = "", message = "" } =
		findCondition(written.status.conditions, "Complete") ?? {};
	if (!limited.has(reason)) return actions;
	const created = Date.parse(operation.metadata.creationTimestamp ?? "");
	const leftMs = created + patienceMs - now;
	if (leftMs > 0)
		return actions.some(({ type }) => type === "lookAgain")
			? actions
			: [...actions, { type: "lookAgain", afterMs: leftMs }];
	const error = {
		code: "PendingDeadlineExceeded" satisfies OperationErrorCode,
		message: `The Operation could not start within an hour. It waited for: ${message}`,
		retryable: true,
	};
	return transition.fail(operation, "PendingDeadlineExceeded", error, {}, now);
}

import type { Pod } from "../../packages/kube/kinds.ts";
import { failures, type PodFailure } from "./pod.ts";

/** What this node process knows of a Pod that it has touched. */
export interface LocalPod {
	/** A container runs. */
	isRunning: boolean;
	/** All containers have ended or will never start. */
	hasEnded: boolean;
	/** The Pod is stopping and will be killed at this instant. */
	killAtMs?: number | undefined;
}

/**
 * The next step for a Pod bound to this node.
 * @param facts.startedBefore a former node process started the Pod, whose processes are gone.
 * @param facts.unsupported why the Pod can't run here.
 */
export function decide(
	pod: Pod,
	local: LocalPod | undefined,
	facts: { startedBefore: boolean; unsupported: string | undefined },
	nowMs: number,
):
	| { do: "start" | "report"; requeueAtMs?: number | undefined }
	| { do: "stop"; failure?: PodFailure; killAtMs: number }
	/** Fail a Pod that has no running container. */
	| { do: "fail"; failure: PodFailure }
	/** Tell the apiserver that nothing of the Pod runs here. */
	| { do: "delete" }
	| { do: "rest" } {
	const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
	const deadlineMs = deadlineOf(pod);
	const isOverdue = deadlineMs !== undefined && nowMs >= deadlineMs;
	if (local?.isRunning) {
		if (deletionTimestamp)
			return {
				do: "stop",
				killAtMs: Math.min(
					Date.parse(deletionTimestamp),
					local.killAtMs ?? Number.POSITIVE_INFINITY,
				),
			};
		if (local.killAtMs !== undefined)
			return { do: "stop", killAtMs: local.killAtMs };
		if (isOverdue)
			return {
				do: "stop",
				failure: failures.deadlineExceeded,
				killAtMs: nowMs + gracePeriodMs(pod),
			};
		return { do: "report", requeueAtMs: deadlineMs };
	}
	const isTerminal = ["Succeeded", "Failed"].includes(pod.status?.phase ?? "");
	if (isTerminal)
		// Zero means that the apiserver already knows. Only finalizers still hold the Pod.
		return deletionTimestamp && deletionGracePeriodSeconds !== 0
			? { do: "delete" }
			: { do: "rest" };
	if (local?.hasEnded) return { do: "report" };
	const failure = reasonToFail(pod, isOverdue, facts);
	return failure
		? { do: "fail", failure }
		: { do: "start", requeueAtMs: deadlineMs };
}

function reasonToFail(
	pod: Pod,
	isOverdue: boolean,
	facts: { startedBefore: boolean; unsupported: string | undefined },
): PodFailure | undefined {
	if (facts.startedBefore) return failures.nodeRestarted;
	if (pod.metadata.deletionTimestamp) return failures.deleted;
	if (facts.unsupported) return failures.unsupported(facts.unsupported);
	return isOverdue ? failures.deadlineExceeded : undefined;
}

/** activeDeadlineSeconds of a Pod counts from its start on the node. The node enforces it, not the Job. */
function deadlineOf({ spec, status }: Pod): number | undefined {
	const seconds = spec?.activeDeadlineSeconds;
	return seconds === undefined || !status?.startTime
		? undefined
		: Date.parse(status.startTime) + seconds * 1000;
}

function gracePeriodMs({ spec }: Pod): number {
	return (spec?.terminationGracePeriodSeconds ?? 30) * 1000;
}

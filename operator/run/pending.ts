import type { Run } from "../../crds/generated/types.ts";
import { findCondition } from "../../kube/conditions.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import type { Reason } from "../reconcile/reasons.ts";
import type { RunErrorCode } from "./errors.ts";
import type { RunState } from "./state.ts";
import { type RunAction, transition } from "./transition.ts";

type Waiting = Reason<"Run", "Complete">;

/** What a person or the cluster must change. It may stay as it is for ever, so the time is limited. */
const limited: ReadonlySet<string> = new Set<Waiting>([
	"PipelineNotFound",
	"PipelineNotReady",
	"JobNotStarted",
	"PodWaiting",
	"NotPermitted",
]);
/** Steps to a Job. Kubernetes may refuse the next one as well. */
const onItsWay: ReadonlySet<string> = new Set<Waiting>([
	"Preparing",
	"Loading",
]);

/** For a Run without a Pipeline, as the CRD has it. */
const defaultDeadlineSeconds = 3_600;

/**
 * The actions, with a limit to the time that a Run waits for a person or the cluster: beyond it, the Run fails and frees its
 * Pipeline. Waiting for archive and for other Runs is Tidemill's own affair, and ends the count.
 */
export function limitPending(
	{ run, references, job }: Pick<RunState, "run" | "references" | "job">,
	actions: RunAction[],
	now: number,
): RunAction[] {
	const index = actions.findIndex(({ type }) => type === "writeStatus");
	const written = actions[index];
	if (written?.type !== "writeStatus") return actions;
	const { pendingSince: before, ...status } = written.status;
	const { reason = "", message = "" } =
		findCondition(status.conditions, "Complete") ?? {};
	const since =
		status.completionTime !== undefined
			? undefined
			: limited.has(reason)
				? (before ?? rfc3339(now))
				: onItsWay.has(reason) && !job
					? before
					: undefined;
	const counted: RunAction = {
		type: "writeStatus",
		status: { ...status, ...(since && { pendingSince: since }) },
	};
	const others = actions.toSpliced(index, 1, counted);
	if (since === undefined || !limited.has(reason)) return others;

	const seconds =
		references?.pipeline.spec.pendingDeadlineSeconds ?? defaultDeadlineSeconds;
	const leftMs = Date.parse(since) + seconds * 1_000 - now;
	if (leftMs <= 0) return fail(run, seconds, message, now);
	return others.some(({ type }) => type === "lookAgain")
		? others
		: [...others, { type: "lookAgain", afterMs: leftMs }];
}

function fail(
	run: Run,
	seconds: number,
	waitedFor: string,
	now: number,
): RunAction[] {
	const { pendingSince: _, ...status } = run.status ?? {};
	const error = {
		code: "PendingDeadlineExceeded" satisfies RunErrorCode,
		message: `The Run was pending for more than ${seconds} seconds (spec.pendingDeadlineSeconds of its Pipeline). It waited for: ${waitedFor}`,
		retryable: true,
	};
	return transition.fail(
		{ ...run, status },
		"PendingDeadlineExceeded",
		error,
		{},
		now,
	);
}

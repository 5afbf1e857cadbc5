import { findCondition } from "../../packages/kube/conditions.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { PendingLimit } from "./kind.ts";
import type {
	CompleteReason,
	JobWork,
	StatusFacts,
	WorkAction,
	WorkReasons,
	WorkTransitions,
} from "./transition.ts";

/** Work that may wait for a person or the cluster, and for how long. */
export interface PendingWork<W> {
	work: W;
	limit: PendingLimit;
	hasJob: boolean;
}

/** Of every kind: what a person or the cluster must change. It may stay as it is for ever, so the time is limited. */
const limitedAlike = [
	"JobNotStarted",
	"WriteRefused",
	"PodWaiting",
	"PodLost",
	"NotPermitted",
];

/**
 * The actions, with a limit to the time that the work waits for a person or the cluster: beyond it, it fails. Waiting for
 * archive and for other Jobs is Tidemill's own affair, and ends the count.
 */
export function limitPending<W extends JobWork, R extends WorkReasons>(
	kind: {
		transition: WorkTransitions<W, R>;
		limited: readonly CompleteReason<R>[];
		working: CompleteReason<R>;
	},
	{ work, limit, hasJob }: PendingWork<W>,
	actions: WorkAction<W, R>[],
	now: number,
): WorkAction<W, R>[] {
	const index = actions.findIndex(({ type }) => type === "writeStatus");
	const written = actions[index];
	if (written?.type !== "writeStatus") return actions;
	const { pendingSince: before, ...status } = written.status as NonNullable<
		JobWork["status"]
	>;
	const { reason = "", message = "" } =
		findCondition(status.conditions, "Complete") ?? {};
	const isLimited = [...limitedAlike, ...kind.limited].includes(reason);
	// Steps to a Job. Kubernetes may refuse the next one as well.
	const isOnItsWay = reason === "Preparing" || reason === kind.working;
	const since = isLimited
		? (before ?? rfc3339(now))
		: isOnItsWay && !hasJob
			? before
			: undefined;
	if (since === undefined || status.completionTime !== undefined)
		return actions.with(index, {
			type: "writeStatus",
			status: status as StatusFacts<W>,
		});
	const others = actions.with(index, {
		type: "writeStatus",
		status: { ...status, pendingSince: since } as StatusFacts<W>,
	});
	if (!isLimited) return others;

	const leftMs = Date.parse(since) + limit.seconds * 1_000 - now;
	if (leftMs > 0) return lookingAgain(others, leftMs);
	const { pendingSince: _, ...lasting } = work.status ?? {};
	const error = {
		code: "PendingDeadlineExceeded",
		message: `${limit.text} It waited for: ${message}`,
		retryable: true,
	};
	return kind.transition.fail(
		{ ...work, status: lasting },
		"PendingDeadlineExceeded",
		error,
		{} as StatusFacts<W>,
		now,
	);
}

/** The actions with one look again, after this time at the latest. */
function lookingAgain<A extends { type: string }>(
	actions: A[],
	latestMs: number,
): (A | { type: "requeueAfter"; afterMs: number })[] {
	const others = actions.filter(({ type }) => type !== "requeueAfter");
	const plannedMs = actions.flatMap((action) =>
		action.type === "requeueAfter" && "afterMs" in action
			? [action.afterMs as number]
			: [],
	);
	const afterMs = Math.min(latestMs, ...plannedMs);
	return [...others, { type: "requeueAfter", afterMs }];
}

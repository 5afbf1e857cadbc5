import type { Pipeline } from "../../crds/generated/types.ts";
import type { Schedule } from "../../crds/schedule.ts";
import { durationMs } from "../../crds/schedule.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import type { FindingsOf } from "../reconcile/reasons.ts";
import type { ScheduleTiming } from "./timing.ts";

/** Type of the condition that says whether scheduled Runs are late. */
export const runOnTime = "RunOnTime";

/** Whether a scheduled Run is late, or when it will be. */
export interface RunLateness {
	isLate: boolean;
	/** The scheduled time in question. */
	slotMs: number;
	/** From when on it is late. */
	lateMs: number;
	/** Why the Run has not ended, for people. */
	reason: string;
}

interface Circumstances {
	timing: ScheduleTiming;
	/** When the latest Run ended. */
	endedTime: string | undefined;
	/** The Run that hasn't ended. */
	active: string | undefined;
	/** Why the Pipeline can't run. */
	why: string | undefined;
}

/**
 * Undefined if the spec doesn't say when a Run is late, or the schedule is off. The scheduled time in question is the first one
 * since a Run ended: a Run that ends serves every scheduled time before, however it ends.
 */
export function latenessOf(
	{ spec, status }: Pipeline,
	schedule: Schedule | undefined,
	{ timing, endedTime, active, why }: Circumstances,
	now: number,
): RunLateness | undefined {
	const { lateAfter } = spec.notify ?? {};
	if (lateAfter === undefined || !schedule || !timing.schedule)
		return undefined;
	const before = findCondition(status?.conditions, runOnTime);
	const endedMs = Date.parse(endedTime ?? "") || 0;
	const sinceMs = Date.parse(timing.schedule.since ?? "") || 0;
	const reason =
		why ??
		(active === undefined
			? "No Run has started."
			: `Run "${active}" is active.`);
	// A schedule that skips a time it was too late for begins anew there, and is late all the same.
	const wasLate =
		before?.status === "False" &&
		endedMs < Date.parse(before.lastTransitionTime) &&
		timing.schedule.hash === status?.schedule?.hash;
	const slotMs = timing.missedMs ?? schedule.next(Math.max(endedMs, sinceMs));
	const lateMs = slotMs + durationMs(lateAfter);
	const isLate = wasLate || timing.missedMs !== undefined || now >= lateMs;
	return {
		isLate,
		slotMs,
		lateMs: Math.min(lateMs, isLate ? now : lateMs),
		reason,
	};
}

/** Whether scheduled Runs are late; nothing if nothing says when they are. */
export function latenessFindingOf(
	{ status }: Pipeline,
	lateness: RunLateness | undefined,
): FindingsOf<"Pipeline">["RunOnTime"] {
	if (!lateness) return undefined;
	if (!lateness.isLate)
		return {
			status: "True",
			reason: "OnTime",
			message: "No scheduled Run is late.",
		};
	const before = findCondition(status?.conditions, runOnTime);
	// What it said when the Run became late: the next scheduled times are late as well.
	if (before?.status === "False") return "as before";
	return {
		status: "False",
		reason: "Late",
		message: `The Run of ${rfc3339(lateness.slotMs)} has not ended in time. ${lateness.reason}`,
	};
}

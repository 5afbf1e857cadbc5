import type { Run, RunError, RunStatus } from "../../crds/generated/types.ts";
import { annotation } from "../../crds/labels.ts";
import { rowsText } from "../../crds/run.ts";
import { type Condition, setCondition } from "../../kube/conditions.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import type { Reason } from "../reconcile/reasons.ts";
import type { RunAction } from "./action.ts";

/**
 * How a Run's status goes on. Each gives the actions in their order: what a Job brought is recorded before the Job is
 * removed, and told when it is recorded.
 */
export const transition = {
	/** It goes on, or waits: `facts` say the phase. */
	progress(
		run: Run,
		reason: Reason<"Run", "Complete">,
		message: string,
		facts: RunStatus,
		now: number,
	): RunAction[] {
		return [
			writeStatus(
				run,
				facts,
				[{ type: "Complete", status: "False", reason, message }],
				now,
			),
		];
	},

	succeed(run: Run, facts: RunStatus, now: number): RunAction[] {
		const reason = "Succeeded" satisfies Reason<"Run", "Complete">;
		const message = `Loaded ${rowsText(facts.rows)}.`;
		return [
			writeStatus(
				run,
				{ phase: "Succeeded", ...facts },
				[{ type: "Complete", status: "True", reason, message }],
				now,
			),
			tell("Normal", "RunSucceeded", message),
			{ type: "removeJob" },
		];
	},

	fail(
		run: Run,
		reason: Reason<"Run", "Failed">,
		error: RunError,
		facts: RunStatus,
		now: number,
	): RunAction[] {
		const { message } = error;
		return [
			writeStatus(
				run,
				{ phase: "Failed", completionTime: rfc3339(now), error, ...facts },
				ended("Failed", reason, message),
				now,
			),
			tell("Warning", "RunFailed", `${error.code}: ${message}`),
			{ type: "removeJob" },
		];
	},

	cancel(run: Run, facts: RunStatus, now: number): RunAction[] {
		const message = "The Run was cancelled by spec.cancel.";
		return [
			writeStatus(
				run,
				{ phase: "Cancelled", completionTime: rfc3339(now), ...facts },
				ended("Cancelled", "Cancelled", message),
				now,
			),
			tell("Normal", "RunCancelled", message),
			{ type: "removeJob" },
		];
	},
};

export function tell(
	severity: "Normal" | "Warning",
	reason: EventReason<"Run">,
	message: string,
): RunAction {
	return { type: "recordEvent", severity, reason, message };
}

/** The Run as if its status had never said this. */
export function without(run: Run, field: "attempts" | "startTime"): Run {
	const { [field]: _, ...status } = run.status ?? {};
	return { ...run, status };
}

type Finding = Pick<Condition, "type" | "status" | "reason" | "message">;

/** As a Job's, `Failed` stands beside a `Complete` that is False. */
function ended(
	complete: Reason<"Run", "Complete">,
	failed: Reason<"Run", "Failed">,
	message: string,
): Finding[] {
	return [
		{ type: "Complete", status: "False", reason: complete, message },
		{ type: "Failed", status: "True", reason: failed, message },
	];
}

/** The whole status with these facts and findings. Who writes it leaves out what says nothing new. */
function writeStatus(
	run: Run,
	facts: RunStatus,
	findings: Finding[],
	now: number,
): RunAction {
	const observedGeneration = run.metadata.generation ?? 0;
	const before = run.status;
	return {
		type: "writeStatus",
		status: {
			...before,
			observedGeneration,
			trigger: before?.trigger ?? triggerOf(run),
			...facts,
			conditions: findings.reduce(
				(conditions, finding) =>
					setCondition(conditions, { ...finding, observedGeneration }, now),
				before?.conditions ?? [],
			),
		},
	};
}

function triggerOf({ metadata }: Run): NonNullable<RunStatus["trigger"]> {
	const trigger = metadata.annotations?.[annotation.trigger];
	return trigger === "Schedule" || trigger === "API" ? trigger : "Manual";
}

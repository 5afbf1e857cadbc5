import type { Run } from "../../crds/generated/types.ts";
import { findCondition } from "../../kube/conditions.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import type { Findings, PipelineAction, PipelineState } from "./decide.ts";

/** The Events that tell what is new about a Pipeline. */
export function eventsOf(
	{ pipeline, runs }: PipelineState,
	{ history, problem, readiness, timing }: Findings,
): PipelineAction[] {
	const { activeRun, conditions } = pipeline.status ?? {};
	const events: PipelineAction[] = [];
	if (activeRun && !runs.some(({ metadata }) => metadata.name === activeRun))
		events.push(
			tell(
				"Warning",
				"RunDeleted",
				`Run "${activeRun}" was deleted before it was seen to end. The next Run loads its days.`,
			),
		);
	const before = findCondition(conditions, "Ready");
	const reason = problem?.reason ?? "Resolved";
	if (before?.reason !== reason || before.status !== readiness)
		events.push(
			tell(
				readiness === "False" ? "Warning" : "Normal",
				reason,
				problem?.message ?? "The Pipeline can run.",
			),
		);
	if (timing.missedMs !== undefined) {
		const active = history.active?.metadata.name;
		const cause =
			problem?.message ??
			(active === undefined
				? "The operator came to it too late."
				: `Run "${active}" was under way.`);
		events.push(
			tell(
				"Warning",
				"MissSchedule",
				`The Run of ${rfc3339(timing.missedMs)} could not start within spec.startingDeadlineSeconds (${pipeline.spec.startingDeadlineSeconds}) and is left out. ${cause}`,
			),
		);
	}
	return events;
}

/**
 * What is left to do when a Run of another Pipeline has the name of the one to be made: this time of the schedule is left
 * out, and people are told.
 */
export function withoutRun(
	actions: PipelineAction[],
	{ metadata, spec }: Run,
): PipelineAction[] {
	const left = actions.flatMap((action): PipelineAction[] => {
		if (action.type === "createRun") return [];
		if (action.type !== "writeStatus") return [action];
		const { activeRun: _, ...status } = action.status;
		return [{ ...action, status }];
	});
	return [
		tell(
			"Warning",
			"RunNameTaken",
			`There is a Run "${metadata.name}" of Pipeline "${spec.pipelineRef.name}" already, so this time of the schedule is left out. Leave names that end in a number to the schedule.`,
		),
		...left,
	];
}

function tell(
	severity: "Normal" | "Warning",
	reason: EventReason<"Pipeline">,
	message: string,
): PipelineAction {
	return { type: "recordEvent", severity, reason, message };
}

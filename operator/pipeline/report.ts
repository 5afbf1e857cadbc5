import type {
	Pipeline,
	PipelineIncompatibility,
	PipelineLastRun,
	PipelineStatus,
	Run,
} from "../../crds/generated/types.ts";
import { rowsText } from "../../crds/run.ts";
import { anyTypesTableOf, tableNameOf } from "../../crds/table-name.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import {
	type ConditionStatus,
	findCondition,
	setConditions,
} from "../../packages/kube/conditions.ts";
import { rfc3339 } from "../../packages/kube/resource.ts";
import {
	deliveryFindingOf,
	type NotificationState,
	pendingOf,
} from "../notification/state.ts";
import type { ReportAction } from "../reconcile/actions.ts";
import type {
	FindingsOf,
	KubeEventReason,
	Reason,
} from "../reconcile/reasons.ts";
import { latenessFindingOf, type RunLateness } from "./lateness.ts";
import type { RunHistory } from "./run-history.ts";
import type { PipelineState } from "./state.ts";
import { adoptedTableOf } from "./table-owners.ts";
import { strategyOf, type TargetProblem } from "./target.ts";
import type { ScheduleTiming } from "./timing.ts";

/** What was decided about a Pipeline. */
export interface PipelineVerdict {
	history: RunHistory;
	incompatibility: PipelineIncompatibility | undefined;
	problem: TargetProblem | undefined;
	readiness: ConditionStatus;
	timing: ScheduleTiming;
	lateness: RunLateness | undefined;
	values: FindingsOf<"Pipeline">["ValuesFit"];
	notifications: NotificationState;
	/** Notifications that wait until a webhook is usable. */
	kept: Notification[];
	eventTypeTables: PipelineStatus["eventTypeTables"];
	inferredColumns: PipelineStatus["inferredColumns"];
	/** Name of the Run that is created now. */
	scheduledRun: string | undefined;
	/** The Run of another Pipeline that has the name of the Run that is due. */
	namesake: Run | undefined;
}

export function statusOf(
	pipeline: Pipeline,
	findings: PipelineVerdict,
	now: number,
): PipelineStatus {
	const { history, incompatibility, problem, readiness, timing } = findings;
	const { lateness, notifications, kept, eventTypeTables, inferredColumns } =
		findings;
	const { metadata, spec, status: before } = pipeline;
	const observedGeneration = metadata.generation ?? 0;
	const tableName = tableNameOf(metadata.name, spec.table.name);
	const activeRun = history.active?.metadata.name ?? findings.scheduledRun;
	const adoptedTable = adoptedTableOf(pipeline, history.lastSuccess);
	const conditions: FindingsOf<"Pipeline"> = {
		Ready: {
			status: readiness,
			reason: problem?.reason ?? "Resolved",
			message:
				problem?.message ??
				(spec.table.perEventType
					? `Runs load into tables "${anyTypesTableOf(tableName)}", one for each type of event.`
					: `Runs load into table "${tableName}".`),
		},
		RunSucceeded: runFindingOf(history),
		RunOnTime: latenessFindingOf(pipeline, lateness),
		ValuesFit: findings.values,
		NotificationsDelivered: deliveryFindingOf(notifications, pendingOf(before)),
	};
	return {
		observedGeneration,
		phase: phaseOf(pipeline, history, readiness, activeRun),
		strategy: strategyOf(pipeline),
		tableName,
		...(timing.nextMs !== undefined && { nextRunTime: rfc3339(timing.nextMs) }),
		...(timing.lastMs !== undefined && {
			lastScheduleTime: rfc3339(timing.lastMs),
		}),
		...(timing.schedule && { schedule: timing.schedule }),
		...(activeRun && { activeRun }),
		...(history.lastRun && { lastRun: history.lastRun }),
		...(history.lastSuccess && { lastSuccess: history.lastSuccess }),
		...(eventTypeTables && { eventTypeTables }),
		...(inferredColumns && { inferredColumns }),
		...(adoptedTable && { adoptedTable }),
		...(incompatibility && { incompatibility }),
		...(kept.length > 0 && { pendingNotifications: kept }),
		conditions: setConditions(
			before?.conditions,
			conditions,
			observedGeneration,
			now,
		),
	};
}

/** A problem comes before a Run that waits because of the same problem. */
function phaseOf(
	{ spec }: Pipeline,
	{ active }: RunHistory,
	readiness: ConditionStatus,
	activeRun: string | undefined,
): NonNullable<PipelineStatus["phase"]> {
	if (active?.status?.phase === "Running") return "Running";
	if (readiness !== "True") return readiness === "False" ? "Error" : "Pending";
	if (activeRun) return "Pending";
	return spec.suspend ? "Suspended" : "Ready";
}

function runFindingOf({
	lastRun,
	latest,
}: RunHistory): FindingsOf<"Pipeline">["RunSucceeded"] {
	// The condition stays as it is after its Run is deleted.
	if (!lastRun || !latest) return "as before";
	return {
		status: lastRun.phase === "Succeeded" ? "True" : "False",
		reason: lastRun.phase as Reason<"Pipeline", "RunSucceeded">,
		message: outcomeOf(lastRun, latest),
	};
}

function outcomeOf(
	{ name, phase, rows }: PipelineLastRun,
	{ status }: Run,
): string {
	if (phase === "Succeeded") return `Run "${name}" loaded ${rowsText(rows)}.`;
	return status?.error
		? `Run "${name}" failed (${status.error.code}): ${status.error.message}`
		: `Run "${name}" was cancelled.`;
}

type PipelineReport = ReportAction<Pipeline, KubeEventReason<"Pipeline">>;

/** What is new about a Pipeline. */
export function kubeEventsOf(
	{ pipeline, runs }: PipelineState,
	{ history, problem, readiness, timing, namesake }: PipelineVerdict,
): PipelineReport[] {
	const { activeRun, conditions } = pipeline.status ?? {};
	const kubeEvents: PipelineReport[] = [];
	if (namesake) {
		const { metadata, spec } = namesake;
		kubeEvents.push(
			kubeEvent(
				"Warning",
				"RunNameTaken",
				`Run "${metadata.name}" of Pipeline "${spec.pipelineRef.name}" has the name of the scheduled Run, so this scheduled time is skipped. Use no Run names that end in a number: the schedule needs them.`,
			),
		);
	}
	if (activeRun && !runs.some(({ metadata }) => metadata.name === activeRun))
		kubeEvents.push(
			kubeEvent(
				"Warning",
				"RunDeleted",
				`Run "${activeRun}" was deleted, and its end is unknown. The next Run loads its days.`,
			),
		);
	const before = findCondition(conditions, "Ready");
	const reason = problem?.reason ?? "Resolved";
	if (before?.reason !== reason || before.status !== readiness)
		kubeEvents.push(
			kubeEvent(
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
				? "The operator was too late."
				: `Run "${active}" was still active.`);
		kubeEvents.push(
			kubeEvent(
				"Warning",
				"MissSchedule",
				`The Run of ${rfc3339(timing.missedMs)} could not start within spec.startingDeadlineSeconds (${pipeline.spec.startingDeadlineSeconds}), so this scheduled time is skipped. ${cause}`,
			),
		);
	}
	return kubeEvents;
}

function kubeEvent(
	severity: "Normal" | "Warning",
	reason: KubeEventReason<"Pipeline">,
	message: string,
): PipelineReport {
	return { type: "recordKubeEvent", severity, reason, message };
}

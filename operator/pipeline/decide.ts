import { isDeepStrictEqual } from "node:util";
import type {
	Layout,
	Pipeline,
	PipelineIncompatibility,
	PipelineLastRun,
	PipelineStatus,
	Run,
} from "../../crds/generated/types.ts";
import { rowsText, scheduledRunName } from "../../crds/run.ts";
import { tableNameOf } from "../../crds/table-name.ts";
import {
	type Condition,
	type ConditionStatus,
	setCondition,
} from "../../kube/conditions.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import type { EventReason } from "../reconcile/event-reasons.ts";
import { settlingMs } from "../reconcile/grace.ts";
import type { Reason } from "../reconcile/reasons.ts";
import { loadJobsProblem } from "./bigquery-quota.ts";
import { eventsOf } from "./events.ts";
import { type RunHistory, runHistory } from "./run-history.ts";
import { parseSchedule } from "./schedule.ts";
import {
	type References,
	resolveTarget,
	strategyOf,
	type TargetProblem,
} from "./target.ts";
import { decideTiming, type Timing } from "./timing.ts";

/** All that a decision about one Pipeline rests on. */
export interface PipelineState extends References {
	/** The Pipeline's Runs that aren't being deleted. */
	runs: Run[];
}

export type PipelineAction =
	/** `slotMs`: the scheduled minute, which names the Run. */
	| { type: "createRun"; name: string; slotMs: number }
	| { type: "deleteRun"; run: Run }
	| CommonAction<Pipeline, EventReason<"Pipeline">>;

/** In the order in which they are applied: a Run is recorded before it is pruned. */
export function decide(state: PipelineState, now: number): PipelineAction[] {
	const { pipeline, runs } = state;
	if (pipeline.metadata.deletionTimestamp) return [];
	const history = runHistory(pipeline, runs);
	const incompatibility = incompatibilityOf(pipeline, history);
	const parsed = parseSchedule(pipeline.spec.schedule);
	const resolved = resolveTarget(state);
	const problem: TargetProblem | undefined =
		"problem" in resolved
			? resolved.problem
			: "problem" in parsed
				? parsed.problem
				: (loadJobsProblem(pipeline, resolved.target) ??
					incompatibleTable(pipeline, incompatibility, resolved.target.layout));
	const timing = decideTiming(
		pipeline,
		"schedule" in parsed ? parsed.schedule : undefined,
		problem === undefined && history.active === undefined,
		now,
	);
	const readiness = readinessOf(pipeline, problem, now);
	const findings = { history, incompatibility, problem, readiness, timing };
	const status = statusOf(pipeline, findings, now);
	const changed = !isDeepStrictEqual(
		JSON.parse(JSON.stringify(status)),
		pipeline.status ?? {},
	);
	return [
		...(timing.dueMs === undefined
			? []
			: [
					{
						type: "createRun",
						name: scheduledRunName(pipeline.metadata.name, timing.dueMs),
						slotMs: timing.dueMs,
					} as const,
				]),
		...(changed ? [{ type: "writeStatus", status } as const] : []),
		...eventsOf(state, findings),
		...history.surplus.map((run) => ({ type: "deleteRun", run }) as const),
		...lookAgain([
			timing.nextMs === undefined ? undefined : timing.nextMs - now,
			timing.deadlineMs === undefined ? undefined : timing.deadlineMs + 1 - now,
			problem?.because === "missing" ? settlingMs(pipeline, now) : undefined,
		]),
	];
}

/** Ready while nothing hinders it; Unknown while what does may pass by itself. */
function readinessOf(
	pipeline: Pipeline,
	problem: TargetProblem | undefined,
	now: number,
): ConditionStatus {
	if (!problem) return "True";
	if (problem.because === "undecided") return "Unknown";
	return problem.because === "missing" && settlingMs(pipeline, now) > 0
		? "Unknown"
		: "False";
}

function lookAgain(delaysMs: (number | undefined)[]): PipelineAction[] {
	const ahead = delaysMs.filter((delayMs) => delayMs);
	return ahead.length === 0
		? []
		: [
				{
					type: "lookAgain",
					afterMs: Math.min(...(ahead as number[]), longestWaitMs),
				},
			];
}

/** A timer doesn't notice that the clock is set, or that the machine slept. */
const longestWaitMs = 5 * 60_000;

/**
 * What the latest Run found that can't be loaded into the table: a Run that finds the same again would fail the same.
 * The status remembers it when that Run is gone.
 */
function incompatibilityOf(
	{ status }: Pipeline,
	{ latest }: RunHistory,
): PipelineIncompatibility | undefined {
	if (!latest) return status?.incompatibility;
	const { error, layout } = latest.status ?? {};
	return error?.code === "TableIncompatible" && layout
		? { layout, message: error.message }
		: undefined;
}

/** Until the layout changes, or the table may be made anew. */
function incompatibleTable(
	{ spec }: Pipeline,
	incompatibility: PipelineIncompatibility | undefined,
	layout: Layout,
): TargetProblem | undefined {
	if (spec.table.onIncompatible === "Rebuild") return undefined;
	if (!incompatibility || !isDeepStrictEqual(incompatibility.layout, layout))
		return undefined;
	return { reason: "TableIncompatible", message: incompatibility.message };
}

/** What was found out about a Pipeline. */
export interface Findings {
	history: RunHistory;
	incompatibility: PipelineIncompatibility | undefined;
	problem: TargetProblem | undefined;
	readiness: ConditionStatus;
	timing: Timing;
}

function statusOf(
	pipeline: Pipeline,
	{ history, incompatibility, problem, readiness, timing }: Findings,
	now: number,
): PipelineStatus {
	const { metadata, spec, status: before } = pipeline;
	const observedGeneration = metadata.generation ?? 0;
	const tableName = tableNameOf(metadata.name, spec.table.name);
	const activeRun =
		history.active?.metadata.name ??
		(timing.dueMs === undefined
			? undefined
			: scheduledRunName(pipeline.metadata.name, timing.dueMs));
	const ready = setCondition(
		before?.conditions,
		{
			type: "Ready",
			status: readiness,
			reason: problem?.reason ?? "Resolved",
			message: problem?.message ?? `Runs load into table "${tableName}".`,
			observedGeneration,
		},
		now,
	);
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
		...(incompatibility && { incompatibility }),
		conditions: withRunSucceeded(ready, history, observedGeneration, now),
	};
}

/** What hinders it is more to know than that a Run waits for the same. */
function phaseOf(
	{ spec }: Pipeline,
	{ active }: RunHistory,
	readiness: ConditionStatus,
	activeRun: string | undefined,
): NonNullable<PipelineStatus["phase"]> {
	if (active?.status?.phase === "Running") return "Running";
	if (readiness !== "True") return readiness === "False" ? "Error" : "Pending";
	if (activeRun) return "Running";
	return spec.suspend ? "Suspended" : "Ready";
}

function withRunSucceeded(
	conditions: Condition[],
	{ lastRun, latest }: RunHistory,
	observedGeneration: number,
	now: number,
): Condition[] {
	// Without its Run there is nothing new to say of it.
	if (!lastRun || !latest) return conditions;
	const reason: Reason<"Pipeline", "RunSucceeded"> = lastRun.phase;
	return setCondition(
		conditions,
		{
			type: "RunSucceeded",
			status: lastRun.phase === "Succeeded" ? "True" : "False",
			reason,
			message: outcomeOf(lastRun, latest),
			observedGeneration,
		},
		now,
	);
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

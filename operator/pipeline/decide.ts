import { isDeepStrictEqual } from "node:util";
import type {
	Destination,
	Layout,
	Pipeline,
	PipelineIncompatibility,
	Run,
	Source,
} from "../../crds/generated/types.ts";
import { scheduledRunName } from "../../crds/run.ts";
import { parseSchedule } from "../../crds/schedule.ts";
import type { Notification } from "../../packages/contracts/notification.ts";
import {
	type ConditionStatus,
	findCondition,
} from "../../packages/kube/conditions.ts";
import { dueNotifications } from "../notification/state.ts";
import type { CommonAction } from "../reconcile/actions.ts";
import { remainingGraceMs } from "../reconcile/grace.ts";
import { retentionIn } from "../reconcile/ledgers.ts";
import type { KubeEventReason } from "../reconcile/reasons.ts";
import { changesOf } from "./changes.ts";
import { refusedMs } from "./job-trial.ts";
import { latenessOf } from "./lateness.ts";
import { quotaProblem } from "./load-quota.ts";
import { planDates } from "./plan-dates.ts";
import { kubeEventsOf, type PipelineVerdict, statusOf } from "./report.ts";
import { type RunHistory, runHistory } from "./run-history.ts";
import type { PipelineState } from "./state.ts";
import { mayAdopt } from "./table-owners.ts";
import { resolveTarget, type TargetProblem } from "./target.ts";
import { decideTiming } from "./timing.ts";
import { valuesFindingOf } from "./values-fit.ts";
import { isSameTable } from "./warehouse.ts";

export type PipelineAction =
	| { type: "createRun"; name: string }
	| { type: "deleteRun"; run: Run }
	/** What isn't taken goes into the status that is written next. */
	| { type: "notify"; due: Notification[] }
	| CommonAction<Pipeline, KubeEventReason<"Pipeline">>;

/** The actions in their order: a Run is recorded before it is pruned. */
export function decide(state: PipelineState, now: number): PipelineAction[] {
	const { pipeline, runs, namesake } = state;
	const { metadata, spec } = pipeline;
	if (metadata.deletionTimestamp || isEarly(state)) return [];
	const history = runHistory(pipeline, runs, now);
	const incompatibility = incompatibilityOf(pipeline, history);
	const parsed = parseSchedule(spec.schedule);
	const { lastSuccess } = history;
	const problem = problemOf(
		state,
		parsed,
		{ incompatibility, lastSuccess },
		now,
	);
	const schedule = "schedule" in parsed ? parsed.schedule : undefined;
	const timing = decideTiming(
		pipeline,
		schedule,
		problem === undefined && history.active === undefined,
		now,
	);
	const waitMs = verdictWaitMs(state, problem, timing.nextMs, now);
	if (waitMs > 0) return [{ type: "requeueAfter", afterMs: waitMs }];
	const due =
		timing.dueMs === undefined
			? undefined
			: scheduledRunName(metadata.name, timing.dueMs);
	const isTaken = namesake?.metadata.name === due;
	const lateness = latenessOf(
		pipeline,
		schedule,
		{
			timing,
			endedTime: history.lastRun?.completionTime,
			active: history.active?.metadata.name,
			why: problem?.message,
		},
		now,
	);
	const notifications = dueNotifications(
		pipeline,
		changesOf(pipeline, runs, lateness),
		state.notifications,
		now,
	);
	const findings: PipelineVerdict = {
		history,
		lateness,
		values: valuesFindingOf(pipeline, runs),
		notifications: state.notifications,
		kept: notifications.kept,
		eventTypeTables: state.eventTypeTables,
		inferredColumns: state.inferredColumns,
		incompatibility,
		problem,
		readiness: readinessOf(pipeline, problem, now),
		timing,
		scheduledRun: isTaken ? undefined : due,
		namesake: isTaken ? namesake : undefined,
	};
	const status = statusOf(pipeline, findings, now);
	const changed = !isDeepStrictEqual(
		JSON.parse(JSON.stringify(status)),
		pipeline.status ?? {},
	);
	return [
		...(notifications.due.length > 0
			? [{ type: "notify", due: notifications.due } as const]
			: []),
		...(findings.scheduledRun === undefined
			? []
			: [{ type: "createRun", name: findings.scheduledRun } as const]),
		...(changed ? [{ type: "writeStatus", status } as const] : []),
		...kubeEventsOf(state, findings),
		...history.surplus.map((run) => ({ type: "deleteRun", run }) as const),
		...soonestOf(
			history.nextExpiryMs === undefined
				? // Its events go some day, and nothing else tells.
					spec.dateRange.end === "Today"
					? undefined
					: longestExpiryMs
				: history.nextExpiryMs - now,
			[
				timing.nextMs === undefined ? undefined : timing.nextMs - now,
				lateness && lateness.lateMs - now,
				notifications.retryMs,
				timing.deadlineMs === undefined
					? undefined
					: timing.deadlineMs + 1 - now,
				problem?.because === "missing"
					? remainingGraceMs(pipeline, now)
					: undefined,
				problem?.reason === "JobRefused" ? refusedMs + 1 : undefined,
			],
		),
	];
}

/**
 * A new Pipeline and what it refers to arrived together, and the others have no status yet. Their first status wakes the
 * Pipeline; until then it could only say that it waits.
 */
function isEarly({ pipeline, source, destination }: PipelineState): boolean {
	return isNew(pipeline) && (isNew(source) || isNew(destination));
}

function isNew(object: Pipeline | Source | Destination | undefined): boolean {
	return (
		object !== undefined &&
		// The CRD's default.
		(object.status === undefined || object.status.observedGeneration === -1)
	);
}

/**
 * How much longer a new Pipeline has no status, in milliseconds, because its Destination isn't checked yet: most checks take
 * a few seconds with the wait for a slot, and then all that there is to say is one status instead of two. The status says since when a
 * schedule is known, so it doesn't wait if a time comes soon.
 */
function verdictWaitMs(
	{ pipeline, destination }: PipelineState,
	problem: TargetProblem | undefined,
	nextMs: number | undefined,
	now: number,
): number {
	if (!isNew(pipeline) || problem?.because !== "undecided") return 0;
	const ready = findCondition(destination?.status?.conditions, "Ready");
	if (ready?.status !== "Unknown") return 0;
	if (nextMs !== undefined && nextMs - now < soonMs) return 0;
	const waitedMs = now - Date.parse(ready.lastTransitionTime);
	return waitedMs < 0 ? 0 : Math.max(0, mostVerdictWaitMs - waitedMs);
}

/** The API waits a second longer for what the operator says about a change (`api/server.ts`). */
const mostVerdictWaitMs = 4_000;
/** Longer than a busy operator, or a change of the leader, delays a look. */
const soonMs = 60_000;

/** Why the Pipeline can't run. */
function problemOf(
	state: PipelineState,
	parsed: ReturnType<typeof parseSchedule>,
	found: FoundByRuns,
	now: number,
): TargetProblem | undefined {
	const { pipeline } = state;
	// First, since it is known at once: a check of a new Destination takes seconds.
	if ("problem" in parsed) return parsed.problem;
	const resolved = resolveTarget(state);
	if ("problem" in resolved) return resolved.problem;
	const { target } = resolved;
	return (
		quotaProblem(pipeline, target) ??
		incompatibleTable(pipeline, found, target.layout) ??
		rangeProblem(state, target.layout, found.lastSuccess, now) ??
		refusedJob(state)
	);
}

/** A Run would load nothing, now and ever. */
function rangeProblem(
	{ pipeline, source }: PipelineState,
	layout: Layout,
	lastSuccess: RunHistory["lastSuccess"],
	now: number,
): TargetProblem | undefined {
	const retention = retentionIn(source);
	const plan = planDates(
		pipeline.spec,
		layout,
		lastSuccess,
		{},
		now,
		retention,
	);
	return "problem" in plan && plan.problem.code === "DatesNotRetained"
		? { reason: plan.problem.code, message: plan.problem.message }
		: undefined;
}

function refusedJob({ jobRefusal }: PipelineState): TargetProblem | undefined {
	return jobRefusal === undefined
		? undefined
		: {
				reason: "JobRefused",
				message: `${jobRefusal} Correct spec.runTemplate, or the quota or policy that refuses it.`,
			};
}

/** Unknown while the problem may pass by itself. */
function readinessOf(
	pipeline: Pipeline,
	problem: TargetProblem | undefined,
	now: number,
): ConditionStatus {
	if (!problem) return "True";
	if (problem.because === "undecided") return "Unknown";
	return problem.because === "missing" && remainingGraceMs(pipeline, now) > 0
		? "Unknown"
		: "False";
}

/** @param expiryMs How long the next old Run is kept, which needn't be exact. */
function soonestOf(
	expiryMs: number | undefined,
	delaysMs: (number | undefined)[],
): PipelineAction[] {
	const ahead = delaysMs.filter(
		(delayMs): delayMs is number => delayMs !== undefined && delayMs > 0,
	);
	const waits = [
		...(ahead.length > 0 ? [Math.min(...ahead, longestWaitMs)] : []),
		...(expiryMs === undefined ? [] : [Math.min(expiryMs, longestExpiryMs)]),
	].filter((waitMs) => waitMs > 0);
	return waits.length === 0
		? []
		: [{ type: "requeueAfter", afterMs: Math.min(...waits) }];
}

/** A timer misses changes of the clock and the sleep of the machine. */
const longestWaitMs = 5 * 60_000;
/** Thousands of Pipelines may have no schedule. */
const longestExpiryMs = 3_600_000;

/**
 * Why the latest Run left the table as it is: another Run of the same would fail the same way. The status remembers it
 * after that Run is deleted.
 */
function incompatibilityOf(
	{ status }: Pipeline,
	{ latest }: RunHistory,
): PipelineIncompatibility | undefined {
	if (!latest) return status?.incompatibility;
	const { error, layout } = latest.status ?? {};
	return error && isRefusal(error.code) && layout
		? { reason: error.code, layout, message: error.message }
		: undefined;
}

function isRefusal(code = ""): code is "TableIncompatible" | "TableNotOurs" {
	return ["TableIncompatible", "TableNotOurs"].includes(code);
}

/** What Runs have found out about the table. */
interface FoundByRuns {
	incompatibility: PipelineIncompatibility | undefined;
	lastSuccess: RunHistory["lastSuccess"];
}

/** A problem until the layout changes, or the spec allows what would help. */
function incompatibleTable(
	pipeline: Pipeline,
	{ incompatibility, lastSuccess }: FoundByRuns,
	layout: Layout,
): TargetProblem | undefined {
	const { destination } = layout;
	const isOfOther = holdsOtherSource(lastSuccess?.layout, layout);
	const found:
		| (Partial<PipelineIncompatibility> & { message: string })
		| undefined =
		incompatibility &&
		isSameTable(incompatibility.layout, layout) &&
		isDeepStrictEqual({ ...incompatibility.layout, destination }, layout)
			? incompatibility
			: isOfOther && !lastSuccess?.empty
				? { message: otherSourceWords(layout) }
				: undefined;
	if (!found) return undefined;
	const { message } = found;
	const reason = isRefusal(found.reason) ? found.reason : "TableIncompatible";
	const mayRebuild = pipeline.spec.table.onIncompatible === "Rebuild";
	const adopts = mayAdopt(pipeline, layout);
	// Its own table is rebuilt or kept for another Source, and nobody else's.
	const isAllowed =
		reason === "TableIncompatible"
			? mayRebuild || (adopts && isOfOther)
			: adopts || (mayRebuild && isOfOther);
	return isAllowed ? undefined : { reason, message };
}

/** Known before a Run asks the table, which somebody may have dropped. */
function otherSourceWords({ table }: Layout): string {
	return `Runs have filled table "${table}" from another Source, and one table has the events of one Source. Set spec.sourceRef back, or spec.table.name to another name; or spec.table.onIncompatible: Rebuild, and a Run drops the table and creates it again. If you have dropped or emptied it yourself, start a Run.`;
}

function holdsOtherSource(loaded: Layout | undefined, layout: Layout): boolean {
	return (
		loaded !== undefined &&
		isSameTable(loaded, layout) &&
		loaded.sourceKey !== layout.sourceKey
	);
}

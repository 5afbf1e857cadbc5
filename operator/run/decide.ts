import type { ManifestAnswer } from "../../contracts/manifest.ts";
import { utcDate } from "../../contracts/utc-date.ts";
import {
	pipelineKind,
	type Run,
	type RunStatus,
} from "../../crds/generated/types.ts";
import { hasEnded } from "../../crds/run.ts";
import { findCondition } from "../../kube/conditions.ts";
import type { Job, Pod } from "../../kube/kinds.ts";
import { rfc3339 } from "../../kube/timestamps.ts";
import { endedAs } from "../job/endings.ts";
import {
	type References,
	resolveTarget,
	type Target,
} from "../pipeline/target.ts";
import type { RunAction } from "./action.ts";
import { deadlineMs, follow, loadingWords } from "./follow.ts";
import { runJob, warehouseLabel } from "./job.ts";
import { planDates } from "./plan-dates.ts";
import { tell, transition, without } from "./transition.ts";
import { obstacle, type Rival, type Writer } from "./turn.ts";

/** All that a decision about one Run rests on. */
export interface RunState {
	run: Run;
	/** Absent when there is no such Pipeline. */
	references: References | undefined;
	/** The Run's own Job that isn't being deleted. */
	job: Job | undefined;
	/** That Job's Pods. */
	pods: Pod[];
	rivals: Rival[];
	/** Of the whole namespace; the Run's own Job is not among them. */
	writers: Writer[];
	image: string;
}

/** In the order in which they are applied. */
export function decide(state: RunState, now: number): RunAction[] {
	const { run, references, job } = state;
	if (run.metadata.deletionTimestamp) return [];
	if (hasEnded(run)) return job ? [{ type: "removeJob" }] : [];
	const owned = run.metadata.ownerReferences?.some(
		({ uid }) => uid === references?.pipeline.metadata.uid,
	);
	const adoptable = references && !owned && !predecessorOf(state);
	return [
		...(adoptable ? [{ type: "adopt" } as const] : []),
		...(job ? follow(state, job, now) : withoutJob(state, now)),
	];
}

/** The Pipeline that has the Run, if it is another than the one that is there now: one of the same name that is gone. */
function predecessorOf({ run, references }: RunState) {
	return run.metadata.ownerReferences?.find(
		({ apiVersion, kind, uid }) =>
			apiVersion.startsWith(`${pipelineKind.group}/`) &&
			kind === pipelineKind.kind &&
			uid !== references?.pipeline.metadata.uid,
	);
}

function withoutJob(state: RunState, now: number): RunAction[] {
	const { run } = state;
	if (run.spec.cancel) return transition.cancel(run, {}, now);
	// Attempts are counted from the first sight of the Job on.
	if (run.status?.attempts === undefined) return consider(state, now);
	const error = endedAs("JobDeleted", `Job "${run.metadata.name}" is gone`);
	return transition.fail(run, "LoadFailed", error, {}, now);
}

/** No Job was made yet: wait for what is missing, or ask archive what to load. */
function consider(state: RunState, now: number): RunAction[] {
	const { run, references, rivals, writers } = state;
	const { pipelineRef, dates } = run.spec;
	const wait = (...[reason, message]: Why) =>
		transition.progress(run, reason, message, { phase: "Pending" }, now);
	if (!references)
		return wait(
			"PipelineNotFound",
			`There is no Pipeline "${pipelineRef.name}" in this namespace. Create it, or delete this Run.`,
		);
	if (predecessorOf(state))
		return wait(
			"PipelineNotFound",
			`This Run belongs to an earlier Pipeline "${pipelineRef.name}", which is gone. Delete the Run; Kubernetes does so, too, in a while.`,
		);
	const resolved = resolveTarget(references);
	if ("problem" in resolved)
		return wait(
			"PipelineNotReady",
			`Pipeline "${pipelineRef.name}" can't run (${resolved.problem.reason}): ${resolved.problem.message}`,
		);

	const { target } = resolved;
	const { spec, status } = references.pipeline;
	const plan = planDates(
		spec,
		target.layout,
		status?.lastSuccess,
		dates,
		utcDate(now),
	);
	if ("problem" in plan) {
		const error = { ...plan.problem, retryable: false };
		return transition.fail(run, "DatesNotLoadable", error, {}, now);
	}
	const name = target.layout.destination;
	const warehouse = { name, label: warehouseLabel(name) };
	const inTheWay = obstacle(run, warehouse, rivals, writers);
	if (inTheWay !== undefined) return wait("WaitingForTurn", inTheWay);

	const complete = findCondition(run.status?.conditions, "Complete");
	return [
		// What archive said last time stays in view until it says something else.
		...(complete?.reason === "ManifestUnavailable"
			? []
			: wait("Preparing", "Archive is asked which objects to load.")),
		{
			type: "askManifest",
			target,
			question: {
				run: run.metadata.uid!,
				account: run.metadata.namespace!,
				sourceKey: target.layout.sourceKey,
				...plan,
				// It began before, with links that have expired since.
				...(run.status?.startTime && { renew: true }),
			},
		},
	];
}

type Why = [reason: Parameters<typeof transition.progress>[1], message: string];

/** Archive has answered. No flush, no run (design §5). */
export function decideStart(
	{ run, references, image }: RunState,
	target: Target,
	answer: ManifestAnswer,
	now: number,
): RunAction[] {
	if (!answer.ok) {
		const { error } = answer;
		if (!error.retryable)
			return transition.fail(run, "ManifestRefused", error, {}, now);
		return [
			...transition.progress(
				run,
				"ManifestUnavailable",
				error.message,
				{ phase: "Pending" },
				now,
			),
			{ type: "lookAgain", afterMs: retryWaitMs(run, now) },
		];
	}
	const { snapshotTime, closedThrough, dates, url, authorities } = answer;
	const startTime = run.status?.startTime ?? rfc3339(now);
	const began: RunStatus = {
		phase: "Running",
		startTime,
		strategy: target.strategy,
		...(dates && { dates }),
		snapshotTime,
		closedThrough,
		layout: target.layout,
	};
	const message = `${loadingWords({ ...run, status: began })} into table "${target.tableName}".`;
	const { pipeline } = references!;
	const leftMs = deadlineMs(pipeline, startTime) - now;
	const job = {
		manifestURL: url,
		...(authorities !== undefined && { authorities }),
		image,
		activeDeadlineSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
	};
	return [
		...transition.progress(run, "Loading", message, began, now),
		{ type: "startJob", runJob: runJob(run, pipeline, target, job) },
		tell("Normal", "RunStarted", message),
	];
}

/** What to do when Kubernetes refused the Job or its input, in its words. */
export function decideRefused(
	run: Run,
	message: string,
	now: number,
): RunAction[] {
	const facts = { phase: "Pending" } as const;
	// Its time begins with its Job.
	const waiting = without(run, "startTime");
	return [
		...transition.progress(waiting, "JobNotStarted", message, facts, now),
		tell("Warning", "JobNotStarted", message),
		{ type: "lookAgain", afterMs: retryWaitMs(run, now) },
	];
}

/** A quarter of what was waited already, from 1 s to 1 min: backoff that needs no memory. */
function retryWaitMs({ metadata }: Run, now: number): number {
	const waitedMs = now - Date.parse(metadata.creationTimestamp ?? "");
	return Math.min(Math.max(waitedMs / 4, 1_000), 60_000);
}

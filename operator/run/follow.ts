import type { JobError, JobResult } from "../../contracts/job.ts";
import type { Pipeline, Run } from "../../crds/generated/types.ts";
import { findCondition } from "../../kube/conditions.ts";
import type { Job } from "../../kube/kinds.ts";
import { jobOutcome } from "../job/outcome.ts";
import type { RunAction } from "./action.ts";
import type { RunState } from "./decide.ts";
import { transition, without } from "./transition.ts";

/** The Job is there: wait for it, or record what it brought. */
export function follow(state: RunState, job: Job, now: number): RunAction[] {
	const { run, pods } = state;
	// A Job that runs out of time takes its Pods with it.
	const attempts = Math.max(pods.length, run.status?.attempts ?? 0);
	const outcome = jobOutcome(job, pods);
	if (outcome.finished) {
		const { result, at } = outcome;
		return isExpired(result) && canBeRenewed(state, now)
			? renew(run, now)
			: record(run, result, at, attempts, now);
	}
	if (run.spec.cancel) return transition.cancel(run, { attempts }, now);
	// A Job that runs out of time, or lost its Pod, has none for a while: what the last one waited for stays in view.
	const isEmpty = pods.every(({ metadata }) => metadata.deletionTimestamp);
	const waitingFor =
		outcome.waitingFor ?? (isEmpty ? lastWaitOf(run) : undefined);
	return waitingFor === undefined
		? transition.progress(
				run,
				"Loading",
				`${loadingWords(run)}.`,
				{ phase: "Running", attempts },
				now,
			)
		: transition.progress(
				run,
				"PodWaiting",
				waitingFor,
				{ phase: "Pending", attempts },
				now,
			);
}

/** The links to the objects live for a while only; who waits for a node, or loads for long, may find them expired. */
function isExpired(result: JobResult): boolean {
	return result.outcome === "Failed" && result.error.code === "ManifestExpired";
}

function canBeRenewed({ run, references }: RunState, now: number): boolean {
	const { startTime } = run.status ?? {};
	if (!references || !startTime || run.spec.cancel) return false;
	return now < deadlineMs(references.pipeline, startTime);
}

/** Archive is asked again: it answers with the same objects and new links, and a new Job loads them. */
function renew(run: Run, now: number): RunAction[] {
	return [
		...transition.progress(
			without(run, "attempts"),
			"Preparing",
			"The links to the objects have expired. Archive is asked for new ones.",
			{ phase: "Pending" },
			now,
		),
		{ type: "removeJob" },
	];
}

function record(
	run: Run,
	result: JobResult,
	completionTime: string,
	attempts: number,
	now: number,
): RunAction[] {
	if (result.outcome === "Failed") {
		const facts = { completionTime, attempts };
		const error = withLastWait(run, result.error);
		return transition.fail(run, "LoadFailed", error, facts, now);
	}
	const { rows, bytes, objects } = result;
	return transition.succeed(
		run,
		{ completionTime, attempts, rows, bytes, objects },
		now,
	);
}

/** A Job that ran out of time has no Pods any more: what they waited for stands in the status. */
function withLastWait(run: Run, error: JobError): JobError {
	const last = lastWaitOf(run);
	if (error.code !== "DeadlineExceeded" || last === undefined) return error;
	const message = `${error.message} Last it waited for: ${last}`;
	return { ...error, message };
}

function lastWaitOf({ status }: Run): string | undefined {
	const complete = findCondition(status?.conditions, "Complete");
	return complete?.reason === "PodWaiting" ? complete.message : undefined;
}

export function loadingWords({ status }: Run): string {
	const { dates } = status ?? {};
	return dates
		? `Loading ${dates.start} to ${dates.end}`
		: "Loading no days, since the Source has no events of them";
}

/** A Run may take so long, all attempts together. */
export function deadlineMs({ spec }: Pipeline, startTime: string): number {
	const { activeDeadlineSeconds } = spec.runTemplate;
	return Date.parse(startTime) + activeDeadlineSeconds * 1000;
}

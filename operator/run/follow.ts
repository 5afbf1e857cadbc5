import type { JobError, JobResult } from "../../contracts/job.ts";
import type { Run, RunStatus } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import { findCondition } from "../../kube/conditions.ts";
import type { Job } from "../../kube/kinds.ts";
import { failedAttempts } from "../job/failed-attempts.ts";
import { jobOutcome } from "../job/outcome.ts";
import { linksExpired } from "../job/work-steps.ts";
import type { RunState } from "./state.ts";
import {
	deadlineMs,
	loadingMessage,
	type RunAction,
	steps,
	tell,
	transition,
} from "./transition.ts";

/** The Run has a Job: wait for it, or record its result. */
export function follow(state: RunState, job: Job, now: number): RunAction[] {
	const { run, pods } = state;
	// The Pods of a Job go when it runs out of time.
	const attempts = Math.max(pods.length, run.status?.attempts ?? 0);
	const stored = state.stored?.ok ? state.stored.result : undefined;
	const outcome = jobOutcome(job, pods, stored);
	const known = run.status?.failedAttempts;
	const tried = {
		attempts,
		...failedAttempts(known, pods, outcome.finished),
	};
	if (outcome.finished) {
		const { result, at, isPodGone } = outcome;
		// It went with its node. Archive may have the result.
		if (isPodGone) {
			const question = steps.askForResult(
				run,
				{
					sourceKey: run.status?.layout?.sourceKey,
					shard: state.shard,
					stored: state.stored,
					endedAt: at,
				},
				now,
			);
			if (question) return question;
		}
		const code = result.outcome === "Failed" ? result.error.code : undefined;
		if (code === "ManifestExpired" && hasTime(state, now))
			return steps.startOver(run, linksExpired, {}, now);
		// The status may be ahead of the Job, which goes after the status is written.
		const isPart = job.metadata.labels?.[label.extent] !== "Whole";
		if (code === "TableIncomplete" && isPart && hasTime(state, now))
			return loadWhole(run, now);
		return record(run, result, { ...tried, completionTime: at }, now);
	}
	if (run.spec.cancel) return transition.cancel(run, tried, now);
	// A Job has no Pod for a while after it loses one or runs out of time. The status keeps what the last Pod waited for.
	const isEmpty = pods.every(({ metadata }) => metadata.deletionTimestamp);
	const waitingFor =
		outcome.waitingFor ?? (isEmpty ? lastWaitOf(run) : undefined);
	return waitingFor === undefined
		? transition.progress(
				run,
				"Loading",
				loadingMessage(run),
				{ phase: "Running", ...tried },
				now,
			)
		: transition.progress(
				run,
				"PodWaiting",
				waitingFor,
				{ phase: "Pending", ...tried },
				now,
			);
}

function hasTime({ run, references }: RunState, now: number): boolean {
	const { startTime } = run.status ?? {};
	if (!references || !startTime || run.spec.cancel) return false;
	return now < deadlineMs(references.pipeline, startTime);
}

/** The table lacks days before those of the Run. Archive is asked for all days, once: any table takes those. */
function loadWhole(run: Run, now: number): RunAction[] {
	const table = run.status?.layout?.table;
	const message = `Table "${table}" lacks days before the Run's: it is new, restored or rebuilt. The Run loads the whole window.`;
	return [
		...steps.startOver(run, message, { extent: "Whole" }, now),
		tell("Normal", "WholeWindow", message),
	];
}

function record(
	run: Run,
	result: JobResult,
	ended: RunStatus,
	now: number,
): RunAction[] {
	const { log } = result;
	const facts = { ...ended, ...(log && { log }) };
	if (result.outcome === "Failed") {
		const error = withLastWait(run, result.error);
		return transition.fail(run, "LoadFailed", error, facts, now);
	}
	const { rows, bytes, objects, quarantinedRows, unfitValues } = result;
	const { addedRows, unchangedDates } = result;
	const loaded = {
		rows,
		bytes,
		objects,
		...(addedRows !== undefined && { addedRows }),
		...(unchangedDates !== undefined && { unchangedDates }),
		...(quarantinedRows !== undefined && { quarantinedRows }),
		...(unfitValues && { unfitValues }),
	};
	return transition.succeed(run, { ...facts, ...loaded }, now);
}

/** The Pods of a Job that ran out of time are gone. The status has what they waited for. */
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
